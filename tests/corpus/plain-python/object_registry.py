# cause: dead-weakrefs
# class: plain-python
# report: https://github.com/h5py/h5py/pull/2783
# verdict: leak
# line: 26
# bytes-per-iteration: 6700
# holder: registry
# fix: callback, WeakValueDictionary, prune, WeakSet
# note: The registry maps a number to a weak reference; the objects die, the references and the entries stay.

import itertools
import os
import weakref

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "10000"))


class File:
    serial = itertools.count(10_000)
    registry = {}

    def __init__(self, name):
        self.name = name
        self.ident = next(self.serial)
        self.rows = list(range(60))
        self.registry[self.ident] = weakref.ref(self)

    @classmethod
    def find(cls, ident):
        reference = cls.registry.get(ident)
        return reference() if reference else None

    def total(self):
        return sum(self.rows) + len(self.name)


def scan(folder):
    result = 0
    for number in range(40):
        handle = File(f"{folder}/{number}.dat")
        result += File.find(handle.ident).total()
    return result


for folder in range(ITERATIONS):
    scan(folder)

print(f"truth iterations={ITERATIONS}")
