#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <hiredis/hiredis.h>

/* TestClientsConverse describes what every conversation does. */

static redisReply *must(redisContext *c, void *reply)
{
	if (!reply)
		errx(1, "%s", c->errstr);
	return reply;
}

static redisReply *ask(redisContext *c, const char *command)
{
	return must(c, redisCommand(c, command));
}

static void show(const char *what, redisReply *r)
{
	printf("%s:", what);
	for (size_t i = 0; i < r->elements; i++)
		printf(" %s", r->element[i]->str);
	if (r->type == REDIS_REPLY_INTEGER)
		printf(" %lld", r->integer);
	else if (r->type != REDIS_REPLY_ARRAY)
		printf(" %s", r->str);
	printf("\n");
	freeReplyObject(r);
}

int main(int argc, char **argv)
{
	char token[128];
	int port;

	if (argc < 4 || sscanf(argv[1], "redis://:%127[^@]@127.0.0.1:%d", token, &port) != 2)
		errx(2, "needs a URL with a token, no authority and a number");
	int n = atoi(argv[3]);
	redisContext *c = redisConnect("127.0.0.1", port);
	if (!c || c->err)
		errx(1, "connect: %s", c ? c->errstr : "out of memory");

	show("refused", must(c, redisCommand(c, "AUTH not-%s", token)));
	freeReplyObject(must(c, redisCommand(c, "AUTH %s", token)));
	freeReplyObject(ask(c, "SELECT 0"));
	freeReplyObject(ask(c, "CLIENT SETNAME teller"));
	show("name", ask(c, "CLIENT GETNAME"));

	for (int i = 0; i < n; i++)
		redisAppendCommand(c, "INCR orders");
	printf("pipelined:");
	for (int i = 0; i < n; i++) {
		void *reply;
		if (redisGetReply(c, &reply) != REDIS_OK)
			errx(1, "%s", c->errstr);
		printf(" %lld", ((redisReply *)reply)->integer);
		freeReplyObject(reply);
	}
	printf("\n");

	show("batch", ask(c, "ID.NEXT orders COUNT 1000"));
	show("unknown", ask(c, "INCR nosuch"));

	printf("cut:\n");
	fflush(stdout);
	getchar();
	if (!redisCommand(c, "INCR orders"))
		printf("broken: %s\n", c->errstr);
	if (redisReconnect(c) != REDIS_OK)
		errx(1, "connect again: %s", c->errstr);
	freeReplyObject(must(c, redisCommand(c, "AUTH %s", token)));
	show("again", ask(c, "INCR orders"));
	redisFree(c);
}
