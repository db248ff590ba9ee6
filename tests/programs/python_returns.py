"""Leaves memory that a reclaim test gives back, and says how much: cycles for the collector, holes for the allocator.

    python_returns.py cycles         100 cycles, the collector switched off
    python_returns.py few            twelve small ones, which the collector would come to
    python_returns.py holes          what is left between blocks that stay
    python_returns.py holes alone    the same, and asks the allocator itself
    python_returns.py until-eof      goes round until its input ends
"""
import ctypes
import gc
import sys

SIZE = 20_000
COUNT = 100


class Cycle:
    def __init__(self):
        self.itself = self
        self.data = bytes(SIZE)


def cycles():
    gc.collect()  # what the interpreter itself left
    gc.disable()
    for _ in range(COUNT):
        Cycle()
    print("collected", COUNT * sys.getsizeof(bytes(SIZE)), flush=True)


def few():
    for _ in range(12):
        cycle = [bytearray(4_000)]
        cycle.append(cycle)


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


def holes():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    blocks = []
    for _ in range(25):
        blocks += [libc.malloc(4000) for _ in range(1000)]
    for block in blocks:
        ctypes.memset(block, 1, 4000)
    for number, block in enumerate(blocks):
        if number % 10:
            libc.free(block)


def trim():
    before = resident()
    ctypes.CDLL(None).malloc_trim(0)
    print("trimmed", before - resident(), flush=True)


def until_eof():
    print("ready", flush=True)
    lines = 0
    while sys.stdin.readline():
        blocks = [bytearray(2000) for _ in range(1000)]
        lines += 1
        print("lines", lines, flush=True)


what = sys.argv[1]
if what == "cycles":
    cycles()
elif what == "few":
    few()
elif what == "until-eof":
    until_eof()
else:
    holes()
    if "alone" in sys.argv:
        trim()
