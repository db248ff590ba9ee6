# cause: ctypes-callbacks-kept
# class: plain-python
# report: https://docs.python.org/3/library/ctypes.html#callback-functions
# verdict: leak
# line: 36
# bytes-per-iteration: 9300
# holder: callbacks
# fix: clear, one callback, reuse, remove
# note: Callbacks for C must be kept alive while C uses them; here they are kept for ever, each with the weights in its closure.

import ctypes
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
libc = ctypes.CDLL(None)


class Sorter:
    def __init__(self):
        self.callbacks = []

    def sort(self, values, weights):
        def compare(left, right):
            return weights[left[0]] - weights[right[0]]

        callback = COMPARE(compare)
        self.callbacks.append(callback)
        numbers = (ctypes.c_int * 20)(*values)
        libc.qsort(numbers, 20, ctypes.sizeof(ctypes.c_int), callback)
        return list(numbers)


def ranking(sorter, rng):
    weights = rng.randbytes(8192)
    return sorter.sort(rng.sample(range(8192), 20), weights)


def main():
    sorter = Sorter()
    rng = random.Random(31)
    first = 0
    for _ in range(ITERATIONS):
        first += ranking(sorter, rng)[0]
    print(f"truth iterations={ITERATIONS}")


main()
