import sys
import redis

# TestClientsConverse describes what every conversation does.
url, ca, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
tls = {"ssl_ca_certs": ca} if ca else {}
ids = redis.Redis.from_url(url, client_name="teller", decode_responses=True, **tls)

ids.execute_command("SELECT", 0)
print("name:", ids.client_getname())

pipeline = ids.pipeline(transaction=False)
for _ in range(n):
    pipeline.incr("orders")
print("pipelined:", *pipeline.execute())

print("batch:", *ids.execute_command("ID.NEXT", "orders", "COUNT", 1000))

try:
    ids.incr("nosuch")
except redis.ResponseError as e:
    print("unknown:", e)

try:
    redis.Redis.from_url(url.replace("//:", "//:not-"), **tls).incr("orders")
except redis.RedisError as e:
    print("refused:", e)

print("cut:", flush=True)
sys.stdin.readline()
print("again:", ids.incr("orders"))
