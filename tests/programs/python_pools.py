"""Tasks that a pool of one worker runs: the program has no loop around them, the pool has. Arguments: threads, processes or pool, and how many. Each
task keeps what it made. Says

    tasks NUMBER of PID
"""

import concurrent.futures
import multiprocessing
import os
import sys

SIZE = 50_000
KEPT = []


def task(number):
    KEPT.append(bytearray(SIZE))
    KEPT.append(bytearray(SIZE + number))
    return os.getpid()


def main(kind, count):
    if kind == "pool":
        with multiprocessing.get_context("fork").Pool(1) as pool:
            workers = set(pool.map(task, range(count), chunksize=1))
            pool.close()
            pool.join()
    elif kind == "processes":
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            workers = set(pool.map(task, range(count)))
    else:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            workers = set(pool.map(task, range(count)))
    print("tasks", count, "of", *workers)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
