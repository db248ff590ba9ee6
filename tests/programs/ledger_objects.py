"""Many small objects of a few sizes, every other one freed. With the argument `stats` the interpreter says what it has."""

import sys


def chain(count):
    kept = freed = None
    for number in range(count):
        size = 16 + number % 7 * 48
        kept = (kept, bytes(size))
        freed = (freed, bytes(size))
    while freed is not None:
        freed = freed[0]
    return kept


kept = chain(150_000)
if "stats" in sys.argv:
    sys._debugmallocstats()
