import sys

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

sys.path.insert(0, "gen-py")
from snowflake import Snowflake

SNIPPET
