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


def work(seed, mine, next_one):
    # All are there at once, so that each has a heap of its own; one after the other, so that each run does the same.
    mine.acquire()
    dice = random.Random(seed)
    blocks = [bytearray(dice.randrange(600, 60000)) for _ in range(BLOCKS)]
    if len(kept) < MOST_KEPT:
        kept.extend(blocks[::EVERY])
    del blocks
    next_one.release()


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


for number in range(ROUNDS):
    turns = [threading.Semaphore(0) for _ in range(THREADS + 1)]
    seeds = range(number * THREADS, (number + 1) * THREADS)
    threads = [threading.Thread(target=work, args=args) for args in zip(seeds, turns, turns[1:])]
    for thread in threads:
        thread.start()
    turns[0].release()
    for thread in threads:
        thread.join()
print("kept", sum(map(len, kept)))
if len(sys.argv) > 1:
    before = resident()
    ctypes.CDLL(None).malloc_trim(0)
    print("returned", before - resident())
