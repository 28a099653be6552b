# Asks a server for ids, as a client of Twitter's Snowflake does: by each transport and protocol.
# usage: snowflake_client.py FOLDER-OF-GENERATED-CODE HOST PORT COUNT
# It prints the ids of all, a line for each id.
import sys
import time

sys.path.insert(0, sys.argv[1])

from snowflake import Snowflake
from thrift.Thrift import TApplicationException
from thrift.protocol import TBinaryProtocol, TCompactProtocol
from thrift.transport import TSocket, TTransport

for transport_class in TTransport.TFramedTransport, TTransport.TBufferedTransport:
    for protocol_class in TBinaryProtocol.TBinaryProtocol, TBinaryProtocol.TBinaryProtocolAccelerated, TCompactProtocol.TCompactProtocol:
        socket = TSocket.TSocket(sys.argv[2], int(sys.argv[3]))
        socket.setTimeout(30_000)
        transport = transport_class(socket)
        client = Snowflake.Client(protocol_class(transport))
        transport.open()
        worker, datacenter = client.get_worker_id(), client.get_datacenter_id()
        assert abs(client.get_timestamp() - time.time() * 1000) < 60_000
        for bad in "", "1a", "a b", "ü":
            try:
                client.get_id(bad)
                sys.exit(f"user agent {bad!r} got an id")
            except TApplicationException as e:
                assert e.type == TApplicationException.INTERNAL_ERROR, e.type
                assert e.message.startswith("InvalidUserAgentError: "), e.message
        for _ in range(int(sys.argv[4])):
            id = client.get_id("python-client")
            assert id >> 17 & 31 == datacenter and id >> 12 & 31 == worker, id
            print(id)
        transport.close()
