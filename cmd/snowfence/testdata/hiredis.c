/* Prints ids by hiredis: one by INCR, three by a pipeline, three by ID.NEXT, and an error. */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>

static void print(redisReply *r) {
	if (r == NULL) {
		fputs("no reply\n", stderr);
		exit(1);
	}
	if (r->type == REDIS_REPLY_INTEGER)
		printf("%lld\n", r->integer);
	else if (r->type == REDIS_REPLY_ARRAY)
		for (size_t i = 0; i < r->elements; i++)
			printf("%s\n", r->element[i]->str);
	else
		printf("%s\n", r->str);
	freeReplyObject(r);
}

int main(int argc, char **argv) {
	redisContext *c = redisConnect(argv[1], argc > 2 ? atoi(argv[2]) : 7601);
	if (c == NULL || c->err)
		return 1;
	print(redisCommand(c, "INCR %s", "default"));
	for (int i = 0; i < 3; i++)
		redisAppendCommand(c, "INCR default");
	for (int i = 0; i < 3; i++) {
		void *r = NULL;
		redisGetReply(c, &r);
		print(r);
	}
	print(redisCommand(c, "ID.NEXT default COUNT %d", 3));
	print(redisCommand(c, "INCR none"));
	redisFree(c);
	return 0;
}
