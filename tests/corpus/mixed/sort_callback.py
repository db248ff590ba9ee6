# cause: callback-objects-made-per-call
# class: mixed
# report: https://docs.python.org/3/library/ctypes.html#callback-functions
# verdict: clean
# note: A new thunk is made for every sort and dropped after it; ctypes frees the executable stub with the object.

import ctypes
import os
import random

COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
LIBC = ctypes.CDLL(None)
LIBC.qsort.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, COMPARE]
LIBC.qsort.restype = None


class Sorter:
    def __init__(self, descending):
        self.sign = -1 if descending else 1

    def compare(self, left, right):
        return self.sign * (left[0] - right[0])

    def sort(self, numbers):
        array = (ctypes.c_int * len(numbers))(*numbers)
        LIBC.qsort(array, len(array), ctypes.sizeof(ctypes.c_int), COMPARE(self.compare))
        return list(array)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1200"))
    source = random.Random(7)
    total = 0
    for number in range(iterations):
        numbers = [source.randrange(100000) for _ in range(200)]
        total += Sorter(number % 2 == 1).sort(numbers)[0]
    print(total)
    print(f"truth iterations={iterations}")


main()
