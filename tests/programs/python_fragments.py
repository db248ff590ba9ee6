"""Fragments the allocator's heaps: eight threads at a time make blocks of many sizes and drop them, and a few of each thread's
stay between the holes, up to a bound that is reached early. Says what is kept and, with an argument, how many resident bytes
the allocator gives back when asked."""

import ctypes
import random
import sys
import threading

ROUNDS, THREADS, BLOCKS = 60, 8, 700
EVERY, MOST_KEPT = 60, 1500
kept = []
lock = threading.Lock()


def work(seed):
    dice = random.Random(seed)
    blocks = [bytearray(dice.randrange(600, 60000)) for _ in range(BLOCKS)]
    with lock:
        if len(kept) < MOST_KEPT:
            kept.extend(blocks[::EVERY])


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


for number in range(ROUNDS):
    threads = [threading.Thread(target=work, args=(number * THREADS + index,)) for index in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("kept", sum(map(len, kept)))
if len(sys.argv) > 1:
    before = resident()
    ctypes.CDLL(None).malloc_trim(0)
    print("returned", before - resident())
