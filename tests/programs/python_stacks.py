"""Python stacks of every kind, each with one block of its own size: the interpreter says which functions are on them.

A line that allocates says so beside it, `malloc(n), note(n)`, and `note` prints what truth.h describes: the line's bytes, and
the functions of this file that are on the stack. It ends by os._exit, so that the blocks are live at the end.
"""

import asyncio
import contextlib
import ctypes
import functools
import os
import signal
import sys
import threading
import weakref

LIBC = ctypes.CDLL(None)
malloc = LIBC.malloc
malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
HERE = os.path.basename(__file__)
# Made beforehand: what `note` keeps must not show up in the books of its caller.
BYTES, BLOCKS = [0] * 400, [0] * 400


def note(count):
    """The line that called allocated so many bytes."""
    frame = sys._getframe(1)
    line, names = frame.f_lineno, []
    BYTES[line] += count
    BLOCKS[line] += 1
    while frame is not None:
        code = frame.f_code
        if os.path.basename(code.co_filename) == HERE:
            names.append(getattr(code, "co_qualname", code.co_name))
        frame = frame.f_back
    os.write(1, f"chain {os.getpid()} {HERE} {line} {';'.join(names)}\n".encode())


def tell():
    me = os.getpid()
    for line, blocks in enumerate(BLOCKS):
        if blocks:
            print("truth", me, "native", HERE, line, BYTES[line], blocks, "-", "-", "-", "-")
    print("truth-end", me, flush=True)


def plain():
    malloc(100900), note(100900)


def deeper():
    return plain_again()


def plain_again():
    for _ in range(3):
        malloc(200300), note(200300)


class Thing:
    malloc(101300), note(101300)

    def __init__(self):
        malloc(101900), note(101900)

    @staticmethod
    def static():
        malloc(102100), note(102100)

    @property
    def colour(self):
        return malloc(103100), note(103100)

    def __eq__(self, other):
        malloc(103300), note(103300)
        return True

    __hash__ = None

    def __call__(self):
        def inner():
            malloc(103900), note(103900)

        inner()


def comprehensions():
    [(malloc(104900), note(104900)) for _ in range(2)]
    list((malloc(105100), note(105100)) for _ in range(2))
    {1: (malloc(106100), note(106100)) for _ in range(2)}
    sorted([3, 1], key=lambda _: (malloc(106300), note(106300)) and 0)
    list(map(functools.partial(lambda _a, _b: (malloc(106900), note(106900)), 1), [1, 2]))


def generator():
    malloc(108700), note(108700)
    yield from inner_generator()
    malloc(109100), note(109100)


def inner_generator():
    yield 1
    malloc(109300), note(109300)


def errors():
    try:
        raise ValueError
    except ValueError:
        malloc(109700), note(109700)
    finally:
        malloc(110300), note(110300)


@contextlib.contextmanager
def manager():
    malloc(110900), note(110900)
    yield
    malloc(111700), note(111700)


def managed():
    with manager():
        malloc(112300), note(112300)


def recursive(depth):
    if depth == 0:
        malloc(112900), note(112900)
    else:
        recursive(depth - 1)


def recursive_through_c(depth):
    if depth == 0:
        malloc(115100), note(115100)
    else:
        functools.reduce(lambda _a, _b: recursive_through_c(depth - 1), [1, 2])


COMPARE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def called_back_by_c():
    def compare(_a, _b):
        malloc(115300), note(115300)
        return 0

    LIBC.qsort((ctypes.c_int * 2)(2, 1), 2, 4, COMPARE(compare))


def called_back_in_a_thread_of_its_own():
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()


def in_a_thread():
    malloc(116300), note(116300)
    plain_in_a_thread()


def plain_in_a_thread():
    malloc(117100), note(117100)


async def waits():
    malloc(118100), note(118100)
    await asyncio.sleep(0)
    malloc(118700), note(118700)
    async for _ in counts():
        malloc(119300), note(119300)


async def counts():
    malloc(120100), note(120100)
    yield 1
    await asyncio.sleep(0)


async def gathers():
    await asyncio.gather(waits(), asyncio.ensure_future(waits_too()))


async def waits_too():
    await asyncio.sleep(0)
    malloc(121300), note(121300)


def on_signal(_number, _frame):
    malloc(121700), note(121700)


def signals():
    signal.signal(signal.SIGUSR1, on_signal)
    os.kill(os.getpid(), signal.SIGUSR1)
    for _ in range(10):
        pass


def dies():
    gone = Thing.__new__(Thing)
    weakref.ref(gone, lambda _: None)
    weakref.finalize(gone, finalized)
    del gone


def finalized():
    malloc(122300), note(122300)


def größe():
    malloc(122900), note(122900)


def evaluated():
    code = compile("malloc(123100), note(123100)", __file__, "eval")
    eval(code)
    exec(compile("def made():\n  malloc(123700), note(123700)\n\n\nmade()", __file__, "exec"), {**globals()})


def with_many_lines():
    # fmt: off
    total = (
        (malloc(124900), note(124900)),
        [
            plain_in_brackets(),
            (malloc(125900), note(125900)),
        ],
    )
    # fmt: on
    return total


def plain_in_brackets():
    malloc(127700), note(127700)


def main():
    plain()
    deeper()
    thing = Thing()
    thing.static()
    thing.colour
    assert [thing] == [Thing.__new__(Thing)]
    thing()
    comprehensions()
    list(generator())
    errors()
    managed()
    recursive(500)
    recursive_through_c(60)
    called_back_by_c()
    called_back_in_a_thread_of_its_own()
    asyncio.new_event_loop().run_until_complete(gathers())
    signals()
    dies()
    größe()
    evaluated()
    with_many_lines()


main()
tell()
os._exit(0)
