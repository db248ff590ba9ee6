"""Bytes that an extension module (forgets.c) makes, and what becomes of its reference to them.

    python_extension.py forgotten    it is never given up, and nobody holds them
    python_extension.py released     it is given up
    python_extension.py kept         it is given to the program, which keeps them

A heap snapshot is taken in the middle of the loop, unless `unseen` follows. Each says what is true about it: `truth rule line bytes iterations blocks`, with `-` and
0 where nothing grows; the last is the number of objects that nobody holds.
"""
import sys

import forgets
import heaplens

ITERATIONS = 300
SIZE = 20_000
KEPT = []
SNAPSHOT = None if "unseen" in sys.argv else 200


def forgotten():
    for step in range(ITERATIONS):
        assert forgets.forgotten(SIZE) == SIZE  # forgotten
        if step == SNAPSHOT:
            heaplens.snapshot()


def released():
    for step in range(ITERATIONS):
        assert forgets.released(SIZE) == SIZE
        if step == SNAPSHOT:
            heaplens.snapshot()


def kept():
    for step in range(ITERATIONS):
        KEPT.append(forgets.kept(SIZE))  # kept
        if step == SNAPSHOT:
            heaplens.snapshot()


kind = sys.argv[1]
with open(__file__) as program:
    lines = [number for number, line in enumerate(program, 1) if line.endswith(f"# {kind}\n")]
{"forgotten": forgotten, "released": released, "kept": kept}[kind]()
rule = {"forgotten": "C16", "released": "-", "kept": "G1"}[kind]
line, size = (lines[0], sys.getsizeof(bytes(SIZE))) if lines else (0, 0)
print("truth", rule, line, size, ITERATIONS, ITERATIONS if kind == "forgotten" else 0, flush=True)
