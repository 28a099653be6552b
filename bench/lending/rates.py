"""Prints how many ids a second this process makes: rates.py WAY SECONDS HTTP-URL RESP-PORT"""
import socket
import sys
import time

import snowfence

way, seconds, url, port = sys.argv[1], float(sys.argv[2]), sys.argv[3], int(sys.argv[4])


def asking(command, replies):
    """Returns a call that sends a command and reads so many lines."""
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    lines = link.makefile("rb", 1 << 16)

    def call():
        link.sendall(command)
        for _ in range(replies):
            lines.readline()

    return call


ids = snowfence.open([url], "default", program="bench") if way == "lent" else None
call, each = {
    "lent": (ids and ids.next, 1),
    "incr": (asking(b"*2\r\n$4\r\nINCR\r\n$7\r\ndefault\r\n", 1), 1),
    "hundred": (asking(b"*4\r\n$7\r\nID.NEXT\r\n$7\r\ndefault\r\n$5\r\nCOUNT\r\n$3\r\n100\r\n", 201), 100),
}[way]
call()
n, begun = 0, time.perf_counter()
while time.perf_counter() - begun < seconds:
    for _ in range(100):
        call()
    n += 100 * each
print(n / (time.perf_counter() - begun))
if ids:
    ids.close()
