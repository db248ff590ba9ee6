"""Takes blocks at one line and marks each moment after one; says the line and, for each mark, what the line has by then."""
import ctypes
import sys

import _heaplens  # built in under Heaplens

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


def take(size):
    malloc(size)


total = 0
for size in (1000, 20000, 300000):
    take(size)
    total += size
    _heaplens.mark(f"behind {size}".encode())
    print("marked", take.__code__.co_firstlineno + 1, total, f"behind {size}", flush=True)
