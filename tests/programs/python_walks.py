"""Frames of every kind under stress: each iteration of an inner loop is one event with a Python stack below it.

`note()` says that the next line allocates, below the functions and lines that the interpreter itself gives. At the end it prints
every such stack with the number of its events (`stack N FRAME;FRAME…`, innermost first, frames of its own code alone; a frame is
FILE:FUNCTION:LINE) and every frame that any code of it or of a module can have (`frame FRAME`). Argument: how many to make.
"""

import _imp
import asyncio
import collections
import ctypes
import dis
import functools
import gc
import os
import signal
import sys
import threading
import tokenize
import types

WALKS = int(sys.argv[1])
BATCH = 50
KINDS = 12
LIBC = ctypes.CDLL(None)
LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
LIBC.free.restype, LIBC.free.argtypes = None, [ctypes.c_void_p]
COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
STACKS = collections.Counter()
LOCK = threading.Lock()


def text_of(code, line):
    return "%s:%s:%d" % (os.path.basename(code.co_filename), getattr(code, "co_qualname", code.co_name), line)


def stack_at(frame, further):
    """The frames of this file from here on; the innermost one's line is some lines further."""
    stack = []
    while frame is not None:
        if frame.f_code.co_filename == __file__:
            stack.append(text_of(frame.f_code, frame.f_lineno + further))
        frame, further = frame.f_back, 0
    return ";".join(stack)


def told(stack, count):
    with LOCK:
        STACKS[stack] += count


def note():
    """The line after the one that called makes a batch of events."""
    told(stack_at(sys._getframe(1), 1), BATCH)


def batches(walks):
    return range(max(1, walks // KINDS // BATCH))


def plain(walks):
    for _ in batches(walks):
        note()
        for _ in range(BATCH): bytes(700)


def without_the_lock(walks):
    """ctypes gives the interpreter's lock away: others run while these frames are read."""
    for _ in batches(walks):
        note()
        for _ in range(BATCH): LIBC.free(LIBC.malloc(900))


def numbers():
    while True:
        note()
        for _ in range(BATCH): bytes(701)
        yield from more_numbers()


def more_numbers():
    note()
    for _ in range(BATCH): bytes(702)
    yield 1


def generators(walks):
    numbered = None
    for turn in batches(walks // 2):
        if turn % 100 == 0:
            numbered = numbers()
        next(numbered)


async def waits(turns):
    for _ in range(turns):
        note()
        for _ in range(BATCH): bytes(703)
        await asyncio.sleep(0)
        async for _ in counts():
            note()
            for _ in range(BATCH): bytes(704)


async def counts():
    yield 1


async def gathers(turns):
    await asyncio.gather(*(waits(turns) for _ in range(5)))


def coroutines(walks):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(gathers(len(batches(walks // 10))))
    loop.close()


def deep(depth):
    if depth:
        return deep(depth - 1)
    note()
    for _ in range(BATCH): bytes(705)


def recursion(walks):
    for turn in batches(walks):
        deep(turn * 7 % 300)


def deep_through_c(depth):
    if depth:
        return functools.reduce(lambda _a, _b: deep_through_c(depth - 1), (1, 2))
    note()
    for _ in range(BATCH): bytes(706)


def recursion_through_c(walks):
    for turn in batches(walks):
        deep_through_c(turn % 30)


def keys(walks):
    def key(value):
        note()
        for _ in range(BATCH): bytes(707)
        return value

    for _ in batches(walks // 10):
        sorted(range(10), key=key)


def mapped(walks):
    for _ in batches(walks // 10):
        sum(map(in_map, range(10)))


def in_map(value):
    note()
    for _ in range(BATCH): bytes(708)
    return value


def called_back(walks):
    def compare(_a, _b):
        note()
        for _ in range(BATCH): bytes(709)
        return 0

    numbers, callback = (ctypes.c_int * 2)(2, 1), COMPARE(compare)
    for _ in batches(walks):
        LIBC.qsort(numbers, 2, 4, callback)


class Dies:
    def __init__(self):
        self.me = self

    def __del__(self):
        note()
        for _ in range(BATCH): bytes(710)


def collected(walks):
    for _ in batches(walks // 10):
        for _ in range(10):
            Dies()
        gc.collect(0)


BORN = """def born_{number}(count):
{lines}    for _ in range(count): bytes(711)
"""


def born(number):
    return compile(BORN.format(number=number, lines="\n" * number), "<born-%d>" % number, "exec")


def reborn(walks):
    """Code that dies and is born again where the last one lay, its names and tables, too: only what they say is different."""
    turns, below = batches(walks), stack_at(sys._getframe(), 5)
    for turn in turns:
        number = turn * 31 % 97
        space = {}
        exec(born(number), space)
        space.popitem()[1](BATCH)
        del space
    for turn in turns:
        number = turn * 31 % 97
        told("<born-%d>:born_%d:%d;%s" % (number, number, number + 2, below), BATCH)


def at_once(walks):
    kinds = plain, without_the_lock, generators, recursion, keys, collected
    share = walks // len(kinds)
    threads = [threading.Thread(target=kind, args=(share,)) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def on_signal(_number, _frame):
    """Wherever the program is: its stack is anything, and every frame of it a pair."""
    bytes(712)


def lines_of(code):
    """0 where instructions have no line, as those that make cells when a function is entered."""
    yield code.co_firstlineno
    yield from (line for _, line in dis.findlinestarts(code) if line is not None)
    if hasattr(code, "co_lines"):
        yield from (0 for _, _, line in code.co_lines() if line is None)


def frames_of(code):
    yield from (text_of(code, line) for line in lines_of(code))
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from frames_of(constant)


def frames_of_functions():
    """Whatever a module made out of text of its own, as namedtuples are."""
    yield "<string>:<module>:1"
    for function in gc.get_objects():
        if isinstance(function, types.FunctionType):
            yield from frames_of(function.__code__)


def frames_of_modules():
    for path in {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}:
        if path.endswith(".py"):
            with tokenize.open(path) as source:
                yield from frames_of(compile(source.read(), path, "exec", dont_inherit=True))


def frames_of_frozen_modules():
    """Code that is part of the interpreter: it has no file."""
    named = getattr(_imp, "_frozen_module_names", lambda: ["_frozen_importlib", "_frozen_importlib_external", "zipimport"])
    for called in named():
        yield from frames_of(_imp.get_frozen_object(called))


def tell():
    known = set(frames_of_modules()) | set(frames_of_frozen_modules()) | set(frames_of_functions())
    for number in range(97):
        known |= set(frames_of(born(number)))
    for frame in known:
        print("frame", frame)
    for stack, count in STACKS.items():
        print("stack", count, stack)
    sys.stdout.flush()


def main():
    sys.setswitchinterval(1e-5)
    signal.signal(signal.SIGALRM, on_signal)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    alone = plain, without_the_lock, generators, coroutines, recursion, recursion_through_c
    for kind in alone + (keys, mapped, called_back, collected, reborn):
        kind(WALKS)
    at_once(2 * WALKS)
    signal.setitimer(signal.ITIMER_REAL, 0)


main()
tell()
os._exit(0)
