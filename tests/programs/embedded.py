"""What embeds_python.c runs: outer() calls the program, which calls inner(), which allocates."""

import ctypes
import os

malloc = ctypes.CDLL(None).malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]


def inner():
    malloc(812_347)


def outer():
    ctypes.PYFUNCTYPE(None)(call_back)()


outer()
line = inner.__code__.co_firstlineno + 1
print("truth", os.getpid(), "native", "embedded.py", line, 812_347, 1, "-", "-", "-", "-")
print("truth-end", os.getpid(), flush=True)
