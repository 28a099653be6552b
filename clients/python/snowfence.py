"""Unique ids, minted in this process with a worker id that is borrowed from Snowfence daemons.

No two ids are ever equal, whatever fails: daemons, the network, the store, this machine's clock. Ids rise as long as one
worker id lasts. docs/lending.md of Snowfence has the rules, and the limit: a running copy of a virtual machine.

    ids = snowfence.open(["http://10.0.0.1:7600", "http://10.0.0.2:7600"], "orders", token=..., program="billing")
    ids.next()     # an int, or a text if the layout is wide; fill(100) is a list
    ids.close()    # gives the worker id back; the end of the process does it too

Any thread may call these, but no signal handler. The first id claims a worker id, and a forked child claims its own. Close
them before an image of the process is taken. No lease is ever written to a disk. Copy this file into your program as it is:
Python 3.9 or later, without dependencies.
"""
import atexit
import json
import os
import random
import socket
import threading
import time
import urllib.parse
import urllib.request
import uuid

_GONE = ["tag:snowfence.example,2026:problem/lease-gone", "tag:snowfence.example,2026:problem/lease-moved"]
_http = urllib.request.OpenerDirector()  # it follows no redirections, and asks no proxies
for _handler in urllib.request.HTTPHandler, urllib.request.HTTPSHandler:
    _http.add_handler(_handler())

class SnowfenceError(Exception): """There are no more ids."""
class Unavailable(SnowfenceError): """There is no id now. It goes on by itself: ask again."""
class Gone(SnowfenceError): """The lease is over for good. Another one is claimed."""

class Held:
    """A lease as its borrower knows it: which slots may be stamped, and when to ask again. It does no I/O.
    Times called sent, came and now are seconds of the monotonic clock."""
    def __init__(self, answer, sent, came):
        self.worker, self.floor, self.base = answer["worker"], int(answer["floor"]), int(answer["base"])
        self.unit, self.epoch, self.form = answer["unit_us"], answer["epoch_ms"] * 1000, answer["form"]
        self.time_shift, self.sequence_shift = answer["time_shift"], answer["sequence_shift"]
        self.random_shift, self.random_bits = answer.get("random_shift", 0), answer.get("random_bits", 0)
        self.sequences, self.max_behind = 1 << answer["sequence_bits"], answer["max_behind_ms"] * 1000
        self.random = lambda bits: int.from_bytes(os.urandom(8), "big") >> (64 - bits)
        self.tick, self.sequence = self.floor, -1  # the last slot that was stamped
        self.ready, self.fresh = [], 0  # ids that one() has stamped ahead, the last first, until their tick is over
        self.highest, self.left = 0, False  # the highest wall clock; left means that nothing is stamped any more
        self.usable, self.pending, self.loss = 0, 0, 0.0
        self.sent, self.mark = sent, None  # of the last request; the mark until an extension is answered
        self._take(answer, came)
        if self.base | self.floor << self.time_shift != int(answer["check"]):
            raise SnowfenceError("the daemon builds ids in another way than this file: copy the current snowfence.py")

    def _take(self, answer, came):
        lease, until, window = answer["lease"], int(answer["until"]), answer["window_ms"] / 1000
        after, loss = answer["extend_after_ms"] / 1000, max(self.loss, answer["loss_ms"] / 1000)
        # The last bound stood at the first sending of the extension, or later. If it was as old as the store's loss by then,
        # it can't be lost any more.
        if self.pending and self.sent >= self.came + loss:
            self.usable = max(self.usable, self.pending)
        self.lease, self.window, self.after, self.loss, self.came = lease, window, after, loss, came
        self.usable, self.pending = (self.usable, until) if loss else (until, 0)

    def extend(self, now, mark):  # later tries of one extension change nothing
        self.sent, self.mark = (now, mark) if self.mark is None else (self.sent, self.mark)

    def answered(self, answer, came):
        """Takes the first answer with the extension's mark, and returns false for every other one."""
        if self.mark is None or answer.get("mark") != self.mark:
            return False
        if answer["worker"] != self.worker or int(answer["floor"]) != self.floor:
            raise Gone("the answer is of another worker id or floor")
        self._take(answer, came)
        self.mark = None
        return True

    def due(self): return max(self.usable and self.sent + self.after, self.came + self.loss if self.pending else 0)  # to extend
    def next_tick(self): return self.tick + 1 if self.sequence >= 0 else self.tick  # the lowest one that was never stamped

    def one(self, wall):
        """Returns an id for the wall clock in microseconds, or None. Most come from those that were stamped for its tick."""
        if not self.ready or wall >= self.fresh:
            self.ready = self.stamp(wall, 64 if self.form == "decimal" else 1)[::-1]
            self.fresh = (self.tick + 1) * self.unit + self.epoch
        return self.ready.pop() if self.ready else None

    def stamp(self, wall, most):
        """Returns up to so many ids of one tick for the wall clock in microseconds; none if there is none now."""
        self.ready = []  # they are lower than those that follow
        self.highest = max(self.highest, wall)
        self.left = self.left or wall < self.highest - self.max_behind  # another worker id is better than a long wait
        tick, sequence = (wall - self.epoch) // self.unit, 0
        if tick <= self.tick:  # a clock that is behind goes on at the last tick
            tick, sequence = self.tick + (self.sequence + 1) // self.sequences, (self.sequence + 1) % self.sequences
        if self.left or tick >= self.usable or tick * self.unit + self.epoch > wall + self.max_behind:
            return []
        end = min(sequence + most, self.sequences)
        self.tick, self.sequence = tick, end - 1
        first = self.base | tick << self.time_shift
        ids = [first | s << self.sequence_shift for s in range(sequence, end)]
        return ids if self.form == "decimal" else [self._text(number) for number in ids]

    def _text(self, number):
        if self.random_bits:
            number |= self.random(self.random_bits) << self.random_shift
        if self.form == "uuid":
            return str(uuid.UUID(int=number))
        return "%0*x" % (int(self.form[3:]), number)

class Ids:
    """The ids of a generator. The URLs are of daemons on one store: any of them serves."""
    def __init__(self, urls, generator, token=None, program=None):
        self._settings = [urls] if isinstance(urls, str) else list(urls), generator, token, program
        self._life = _Life(*self._settings)
        atexit.register(self.close)  # in a forked child it gives back the child's own worker id, if there is one
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: setattr(self._life, "pid", None))

    def next(self, wait=1.0):
        """Returns an id. It waits for up to so many seconds, and raises Unavailable then."""
        life = self._life
        if life.pid == os.getpid():
            with life.lock:
                held = life.held
                if held and not life.closed and not held.left and (one := held.one(time.time_ns() // 1000)):
                    if life.pid == os.getpid():
                        return one
        return self.fill(1, wait)[0]

    def fill(self, n, wait=1.0):
        """Returns n ids that rise, as next does."""
        life, ids, end = self._mine(), [], time.monotonic() + wait
        with life.lock:
            while True:
                if life.closed:
                    raise SnowfenceError(life.closed)
                while life.held and len(ids) < n and (more := life.held.stamp(time.time_ns() // 1000, n - len(ids))):
                    ids += more
                if life.pid != os.getpid():
                    raise Unavailable("a signal handler has forked this process just now: ask again")
                if len(ids) == n:
                    return ids
                if time.monotonic() >= end:
                    why = life.problem or "no bound is confirmed yet, or this machine's clock is behind the last id"
                    raise Unavailable("no id within %g s, ask again: %s" % (wait, why))
                if life.thread.ident is None:
                    life.thread.start()
                life.changed.notify_all()  # the clock may have stepped back
                life.changed.wait(0.01)

    def close(self, wait=5.0):
        """Makes no more ids, and gives the worker id back. It waits for that for up to so many seconds."""
        life = self._mine()
        with life.lock:
            life.closed = life.closed or "the ids were closed: open them again"  # nothing is stamped from here on
            life.changed.notify_all()
        if life.thread.ident:
            life.thread.join(wait)
        atexit.unregister(self.close)

    def _mine(self):
        while (life := self._life).pid != os.getpid():  # the parent's lease stays the parent's
            # Threads may come at once: setdefault gives all of them one heir, without a lock that a fork could leave locked.
            self._life = vars(life).setdefault("heir", _Life(*self._settings))
        return life

open = Ids  # noqa: A001, it is called as snowfence.open

class _Life:
    """What one process has. The lock is over the lease and its slots. One thread does all exchanges, one at a time."""
    def __init__(self, urls, generator, token, program):
        self.urls, self.path = urls, "/v1/generators/%s/leases" % urllib.parse.quote(generator, safe="")
        self.headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})}
        self.pid, self.lock = os.getpid(), threading.Lock()
        self.who = {"host": socket.gethostname(), "pid": self.pid, "program": program or ""}
        self.changed = threading.Condition(self.lock)
        self.thread = threading.Thread(target=self._run, name="snowfence", daemon=True)
        self.held, self.closed = None, ""  # closed says why
        self.at, self.patience, self.problem = 0, 10.0, "the first claim has no answer yet"

    def _ends(self): return bool(self.closed or self.held and self.held.left)

    def _run(self):
        pause = 0.0
        while self.pid == os.getpid():
            with self.lock:
                held = self.held
                rest = held.due() - time.monotonic() if held and not held.mark else pause * random.uniform(0.5, 1)
                self.changed.wait_for(self._ends, max(rest, 0))
                ends = self._ends()
            if ends and not held:
                return
            done = self._release(held) if ends else self._extend(held) if held else self._claim()
            # A claim whose answer was lost costs a worker id for a window, so claims are rarer.
            pause = 0.0 if done or held is not self.held else min(2 * pause + 0.25, 5.0) if held else min(2 * pause + 1.0, 30.0)

    def _claim(self):
        sent = time.monotonic()
        return self._ask_all("POST", "", {}, lambda answer, came: self._hold(Held(answer, sent, came)))

    def _hold(self, held):
        self.held, self.patience = held, min(max(held.window / 6, 1.0), 10.0)
        return True

    def _extend(self, held):
        held.extend(time.monotonic(), os.urandom(8).hex())
        done = self._ask_all("PUT", "/%d" % held.worker, {"lease": held.lease, "mark": held.mark}, held.answered)
        if not done and time.monotonic() > held.came + 2 * held.window:
            held.left = True  # its bound has passed long since: another one is better
        return done

    def _release(self, held):
        body = {"lease": held.lease, "mark": os.urandom(8).hex(), "next": str(held.next_tick()), "open": held.mark or ""}
        self._ask_all("POST", "/%d/release" % held.worker, body, lambda answer, came: True, True)
        with self.lock:
            self.held = None  # if no daemon has answered, the worker id rests for a window
        return True

    def _ask_all(self, verb, path, body, accept, last=False):
        """Asks one daemon after the other until an answer is accepted."""
        for _ in self.urls:
            if self.pid != os.getpid() or self._ends() and not last:  # a child asks nothing for its parent
                break
            url = self.urls[self.at % len(self.urls)]
            try:
                answer, came = self._ask(url, verb, path, body), time.monotonic()
                with self.lock:
                    if accept(answer, came):
                        self.problem = ""
                        return True
                raise ValueError("the answer is to another request")
            except SnowfenceError as problem:
                with self.lock:
                    self.held, self.problem = None, str(problem)
                    self.closed = self.closed if isinstance(problem, Gone) else self.problem
                break
            except Exception as problem:  # whatever it was, it ends no lease, and another daemon may do better
                self.problem, self.at = "%s: %s" % (url, str(problem) or repr(problem)), self.at + 1
        return False

    def _ask(self, url, verb, path, body):
        body = json.dumps({**self.who, **body, "now": time.time_ns() // 1000000}).encode()
        request = urllib.request.Request(url.rstrip("/") + self.path + path, body, self.headers, method=verb)
        with _http.open(request, timeout=self.patience) as response:  # each exchange has its own connection
            text, kind = response.read(1 << 16), response.headers.get_content_type()
        answer = json.loads(text) if kind in ("application/json", "application/problem+json") else {}
        if response.status == 200 and kind == "application/json":
            return answer
        detail = answer.get("detail", "this is no answer of a daemon")
        if kind == "application/problem+json" and answer.get("type") in _GONE:
            raise Gone(detail)
        raise ValueError("%s (status %d)" % (detail, response.status))
