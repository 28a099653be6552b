import sys

import grpc

import snowfence_pb2
import snowfence_pb2_grpc

# TestClientsConverse describes what every conversation does. Each message is sent compressed.
address, token, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
channel = grpc.insecure_channel(address, compression=grpc.Compression.Gzip)
ids = snowfence_pb2_grpc.IdsStub(channel)


def ask(generator, count, token=token, **options):
    request = snowfence_pb2.NextRequest(generator=generator, count=count)
    return ids.Next(request, metadata=[("authorization", "Bearer " + token)], **options).ids


print("batch:", *ask("orders", n))
for what, call in ("unknown", lambda: ask("nosuch", 1)), ("refused", lambda: ask("orders", 1, token="not-" + token)):
    try:
        call()
    except grpc.RpcError as e:
        print(what + ":", e.code().name, e.details())

print("cut:", flush=True)
sys.stdin.readline()
try:
    ask("orders", 1, wait_for_ready=True)  # an idle channel does not see that its connection has ended
except grpc.RpcError as e:
    print("broken:", e.code().name)
print("again:", *ask("orders", 1, wait_for_ready=True))
