"""Keeps one block more with every iteration, at one line, and a few that come and go; says how many bytes an iteration adds."""
import ctypes
import os
import sys

malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
free.argtypes = [ctypes.c_void_p]
SIZE = 12345


def main(passes):
    for _ in range(passes):
        free(malloc(777))
        malloc(SIZE)


main(int(sys.argv[1]))
print("grows", SIZE, main.__code__.co_firstlineno + 3, flush=True)
os._exit(0)
