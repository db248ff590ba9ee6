"""Worker processes that keep what they make, or do not. Arguments: how they are started (fork, forkserver, spawn, subprocess), what each
does (keep, drop), and how many there are. Each says

    worker PID keeps BYTES
"""

import multiprocessing
import os
import subprocess
import sys

SIZE = 20_000
ITERATIONS = 300
KEPT = []


def keep():
    for _ in range(ITERATIONS):
        KEPT.append(bytearray(SIZE))
    return len(KEPT) * SIZE


def drop():
    for _ in range(ITERATIONS):
        bytearray(SIZE)
    return 0


def work(what):
    held = {"keep": keep, "drop": drop}[what]()
    os.write(1, f"worker {os.getpid()} keeps {held}\n".encode())


def by_subprocess(what, count):
    words = [sys.executable, __file__, "work", what]
    children = [subprocess.Popen(words) for _ in range(count)]
    return max(child.wait() for child in children)


def by_multiprocessing(how, what, count):
    context = multiprocessing.get_context(how)
    children = [context.Process(target=work, args=(what,)) for _ in range(count)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    return max(child.exitcode for child in children)


def main(how, what, count="1"):
    if how == "work":
        work(what)
        return 0
    start = by_subprocess if how == "subprocess" else lambda *words: by_multiprocessing(how, *words)
    return start(what, int(count))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
