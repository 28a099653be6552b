"""What the tests of the Python client run: lending.py vectors FILE, talk GENERATOR MILLISECONDS URL..., fork URL, or twins."""
import json
import multiprocessing
import os
import sys
import threading
import time

import snowfence


def vectors(path):
    with open(path) as file:
        cases = json.load(file)["cases"]
    for case in cases:
        held = None
        for number, step in enumerate(case["steps"]):
            got, want, held = play(held, step)
            if got != want:
                sys.exit("%s, step %d: %s, want %s" % (case["name"], number, got, want))
            print(case["name"], step["do"])


def play(held, step):
    """Returns what comes of a step, what is to come of it, and the lease."""
    do = step["do"]
    if do == "claim":
        try:
            return "taken", step["outcome"], snowfence.Held(step["answer"], step["sent_ms"] / 1000, step["came_ms"] / 1000)
        except snowfence.SnowfenceError:
            return "refused", step["outcome"], None
    if do in ("extend", "again"):
        held.extend(step["sent_ms"] / 1000, step["mark"])
        return None, None, held
    if do in ("gone", "release"):  # the client forgets the lease
        held.left = True
        return None if do == "gone" else str(held.next_tick()), step.get("tick"), held
    if do == "answer":
        if held.left:
            return "ignored", step["outcome"], held
        try:
            got = "taken" if held.answered(step["answer"], step["came_ms"] / 1000) else "ignored"
        except snowfence.Gone:
            got = "refused"
        return got, step["outcome"], held
    if do == "stamp":
        held.random = lambda bits: int(step["random"])
        for _ in range(step.get("times", 1)):
            ids = held.stamp(step["wall_ms"] * 1000, 1)
        return str(ids[0]) if ids else None, step["id"], held
    if do == "due":
        return round(held.due() * 1000), step["at_ms"], held
    return str(held.next_tick()), step["tick"], held


def talk(generator, milliseconds, *urls):
    ids = snowfence.open(urls, generator, program="talk")
    got = ids.fill(5000, wait=30) + [ids.next() for _ in range(5000)]
    for _ in range(100):
        got += [ids.next()] + ids.fill(3)  # what next has stamped ahead is lower
    begun = time.monotonic()
    while time.monotonic() < begun + int(milliseconds) / 1000:
        got.append(ids.next(wait=30))
        time.sleep(0.01)
    ids.close(wait=30)
    print(*got, sep="\n")


def mint(ids):
    print("\n".join(str(id) for id in ids.fill(1000, wait=30)), flush=True)


def fork(url):
    ids = snowfence.open(url, "default")
    mint(ids)
    child = os.fork()
    if child == 0:
        mint(ids)
        sys.exit()  # it runs the exit hooks, as a worker of a prefork server does
    os.waitpid(child, 0)
    unused = os.fork()
    if unused == 0:
        sys.exit()  # its exit hook must not touch the lease
    os.waitpid(unused, 0)
    other = multiprocessing.get_context("fork").Process(target=mint, args=(ids,))
    other.start()
    other.join()
    mint(ids)


def twins():
    """Two threads come at once after a fork: one of them while the other is about to begin the child's life."""
    ids = snowfence.open("http://127.0.0.1:1", "default")
    ids._life.pid = None  # as in a forked child
    begin, others = snowfence._Life.__init__, []

    def slowly(life, *settings):
        begin(life, *settings)
        snowfence._Life.__init__ = begin
        other = threading.Thread(target=lambda: others.append(ids._mine()))
        other.start()
        other.join()

    snowfence._Life.__init__ = slowly
    if ids._mine() is not others[0]:
        sys.exit("two threads of one process have two leases")
    print("twins")


if __name__ == "__main__":
    {"vectors": vectors, "talk": talk, "fork": fork, "twins": twins}[sys.argv[1]](*sys.argv[2:])
