import sys
import redis

# Transactions and plain commands in turn, on one connection. Prints the numbers of each counter.
counters = redis.Redis.from_url(sys.argv[1])
numbers = {"near": [], "far": []}
for _ in range(int(sys.argv[2])):
    pipeline = counters.pipeline()
    near, far = pipeline.incr("near").incr("far").execute()
    numbers["near"] += [near, counters.incr("near")]
    numbers["far"] += [far]
for name in numbers:
    print(name, *numbers[name])
