"""Lists that native code takes a reference to, and what becomes of it.

    python_references.py forgotten    it is never given back, and nobody else keeps them
    python_references.py returned     it is given back
    python_references.py listed       so it is, but the program keeps them itself

Each says what is true about it: `truth rule line bytes iterations`, with `-` and 0 where nothing grows.
"""
import ctypes
import sys

PASSES = 300
LENGTH = 900
kept = []


def take(thing):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def give_back(thing):
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(thing))


def forgotten():
    for step in range(PASSES):
        thing = [None] * LENGTH  # forgotten
        take(thing)


def returned():
    for step in range(PASSES):
        thing = [None] * LENGTH
        take(thing)
        give_back(thing)


def listed():
    for step in range(PASSES):
        thing = [None] * LENGTH  # listed
        take(thing)
        kept.append(thing)
        give_back(thing)


kind = sys.argv[1]
with open(__file__) as program:
    lines = [number for number, line in enumerate(program, 1) if line.endswith(f"# {kind}\n")]
{"forgotten": forgotten, "returned": returned, "listed": listed}[kind]()
rule = {"forgotten": "C16", "returned": "-", "listed": "G1"}[kind]
line, size = (lines[0], sys.getsizeof([None] * LENGTH)) if lines else (0, 0)
print("truth", rule, line, size, PASSES, flush=True)
