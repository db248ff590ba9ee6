"""Small objects that Python's own allocator makes, known by their sizes: what `sys.getsizeof` says is what was asked for.

Each claimed line makes objects of one size and keeps them in a list that was made beforehand. It ends by os._exit, so that
they are live at the end. Arguments: how many objects a line makes.
"""

import os
import sys
import threading

COUNT = int(sys.argv[1])
HERE = os.path.basename(__file__)
KEEP = [None] * (COUNT + 1)
ROWS = {}


class Plain:
    __slots__ = ("value",)


class Wide:
    __slots__ = tuple("field%d" % number for number in range(40))


def claim(line, kept, count):
    ROWS[line] = sum(map(sys.getsizeof, kept)), count


def here(distance):
    return sys._getframe(1).f_lineno + distance


def slots():
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = Plain()
    claim(here(-1), kept, COUNT)
    return kept


def wide():
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = Wide()
    claim(here(-1), kept, COUNT)
    return kept


def texts():
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = bytes(100)
    claim(here(-1), kept, COUNT)
    return kept


def tuples():
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = (kept, index, kept, index, kept, index, kept, index, kept, index, kept, index, kept, index, kept, index, kept, index, kept, index, kept, index)
    claim(here(-1), kept, COUNT)
    return kept


def half_freed():
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = bytes(200)
    for index in range(0, COUNT, 2):
        kept[index] = None
    claim(here(-3), kept[1::2], COUNT // 2)
    return kept


def grown():
    """Objects that realloc moves: from the allocator of small objects to malloc and on."""
    kept = KEEP[:COUNT]
    for index in range(COUNT):
        kept[index] = bytearray(60)
    for index in range(COUNT):
        kept[index] += b"0123456789" * 20
    return kept


def in_threads():
    kept = [[None] * COUNT for _ in range(4)]

    def work(mine):
        for index in range(COUNT):
            mine[index] = bytes(300)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claim(here(-7), [one for mine in kept for one in mine], 4 * COUNT)
    return kept


ALL = [make() for make in (slots, wide, texts, tuples, half_freed, grown, in_threads)]
print("truth-partial")
for row, (size, blocks) in ROWS.items():
    print("truth", os.getpid(), "python", HERE, row, size, blocks, "-", "-", "-", "-")
print("truth-end", os.getpid(), flush=True)
os._exit(0)
