"""Keeps objects of types that CPython reuses from its free lists, and says which line allocates what holds them.

    python_free_lists.py reused     temporaries of one line come back as what another line keeps
    python_free_lists.py own        one line makes and fills the containers that are kept
    python_free_lists.py others     objects of a type that has no free list
"""
import json
import sys

import _heaplens

COUNT = 3000
ROWS = 40


class Row:
    def __init__(self, value):
        self.value = value


def line():
    return sys._getframe(1).f_lineno


def reused():
    kept = []
    for number in range(COUNT):
        text = json.dumps([{"value": number + 0.5} for _ in range(ROWS)])
        kept.append(json.loads(text)); at = line()
    _heaplens.snapshot()
    print("kept at", at, flush=True)


def own():
    kept = []
    for number in range(COUNT):
        made = [{"value": number + 0.5} for _ in range(ROWS)]
        kept.append(made)
    _heaplens.snapshot()


def others():
    kept = []
    for number in range(COUNT):
        made = Row(bytes(300))
        kept.append(made)
    _heaplens.snapshot()


globals()[sys.argv[1]]()
