"""Prints ids, a hundred at a time, minted with a borrowed worker id.

borrow.py FILE-OF-THE-OFFSET BROKEN URL...: the file has the milliseconds by which the clock is off. BROKEN is yes for a
borrower that minds no bound and never extends its lease, which must be found.
"""
import sys
import time

import snowfence

offset, broken, urls = sys.argv[1], sys.argv[2] == "yes", sys.argv[3:]
true_time = time.time_ns


def off():
    with open(offset) as f:
        return true_time() + int(f.read()) * 1000000


time.time_ns = off
if broken:
    stamp = snowfence.Held.stamp

    def careless(self, wall, most):
        self.usable = 1 << 62
        return stamp(self, wall, most)

    snowfence.Held.stamp = careless
    snowfence.Held.due = lambda self: time.monotonic() + 3600
ids = snowfence.open(urls, "default", program="python")
while True:
    try:
        print("\n".join(map(str, ids.fill(100))), flush=True)
        time.sleep(0.01)
    except snowfence.Unavailable:
        pass
