"""Sections of leak checks, and what the program knows of each: `section NAME KIND LINE BYTES`, for blocks of 1,000 bytes and more.

Bytes objects of this size are blocks of `malloc`, as large as `sys.getsizeof` says.
"""

import asyncio
import ctypes
import gc
import os
import sys
import threading

import heaplens

kept = []
said = []
libc = ctypes.CDLL(None)
libc.malloc.argtypes, libc.malloc.restype = [ctypes.c_size_t], ctypes.c_size_t
increment = ctypes.pythonapi.Py_IncRef
increment.argtypes, increment.restype = [ctypes.py_object], None
# What the interpreter and ctypes make at the first call is no section's.
libc.free(ctypes.c_void_p(libc.malloc(10)))
increment(None)


def say(section, kind, size):
    said.append((section, kind, sys._getframe(1).f_lineno, size))


def keep(size):
    kept.append(bytes(size))


class Ring:
    __slots__ = ("own", "data")


def clear_stack(depth):
    """What functions left on the interpreter's own stack that have returned, up to a depth."""
    one = two = three = four = five = six = None
    return depth and clear_stack(depth - 1), one, two, three, four, five, six


def in_plain():
    keep(100_000)
    say("plain", "held", sys.getsizeof(kept[-1]))
    given_back = [bytes(200_000) for _ in range(3)]
    del given_back
    libc.malloc(4_000)
    say("plain", "definitely", 4_000)
    ring = Ring()
    ring.own, ring.data = ring, bytes(50_000); say("plain", "garbage", sys.getsizeof(ring.data))
    del ring
    increment(bytes(60_000))
    say("plain", "unreferenced", 60_033)


def plain():
    keep(30_000)
    with heaplens.leak_check("plain"):
        in_plain()
        clear_stack(20)
    keep(40_000)


def raises():
    try:
        with heaplens.leak_check("raises"):
            keep(70_000)
            say("raises", "held", sys.getsizeof(kept[-1]))
            raise ValueError("the section ends all the same")
    except ValueError:
        pass
    keep(80_000)


def nested():
    with heaplens.leak_check("outer"):
        keep(11_000)
        with heaplens.leak_check("inner"):
            keep(12_000)
        keep(13_000)


def passes():
    for number in range(4):
        with heaplens.leak_check("pass"):
            keep(9_000)
        keep(7_000)


def thread():
    with heaplens.leak_check("thread"):
        worker = threading.Thread(target=keep, args=(15_000,))
        worker.start()
        worker.join()


async def first(begun, other_begun):
    with heaplens.leak_check("first"):
        begun.set()
        await other_begun.wait()
        keep(16_000)


async def second(begun, other_begun):
    await other_begun.wait()
    with heaplens.leak_check("second"):
        begun.set()
        keep(17_000)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        keep(18_000)


async def tasks():
    events = [asyncio.Event(), asyncio.Event()]
    await asyncio.gather(first(*events), second(events[1], events[0]))


def fork():
    with heaplens.leak_check("fork"):
        child = os.fork()
        if child == 0:
            keep(19_000)
            os._exit(0)
        os.waitpid(child, 0)


def healthy():
    with heaplens.leak_check("healthy"):
        for size in range(1_000, 2_000, 100):
            bytes(size)


gc.disable()
{
    "plain": plain,
    "raises": raises,
    "nested": nested,
    "passes": passes,
    "thread": thread,
    "tasks": lambda: asyncio.run(tasks()),
    "fork": fork,
    "healthy": healthy,
}[sys.argv[1]]()
for row in said:
    print("section", *row)
