import sys

from thrift.Thrift import TApplicationException
from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

sys.path.insert(0, "gen-py")
from snowflake import Snowflake

# TestClientsConverse describes what every conversation does.
transport = TTransport.TFramedTransport(TSocket.TSocket(sys.argv[1], int(sys.argv[2])))
ids = Snowflake.Client(TBinaryProtocol.TBinaryProtocol(transport))
transport.open()
print("batch:", *(ids.get_id("python") for _ in range(int(sys.argv[3]))))
try:
    ids.get_id("no agent")
except TApplicationException as e:
    print("refused:", e.message)

print("cut:", flush=True)
sys.stdin.readline()
try:
    ids.get_id("python")
except (TTransport.TTransportException, OSError) as e:
    print("broken:", e)
    transport.close()
    transport.open()
print("again:", ids.get_id("python"))
