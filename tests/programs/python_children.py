"""Processes that Python starts, each of which says what it allocated. Argument: fork, spawn or forkserver."""

import ctypes
import multiprocessing
import os
import sys

HERE = os.path.basename(__file__)


def work(size):
    malloc = ctypes.CDLL(None).malloc
    malloc.restype, malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    malloc(size)
    line = sys._getframe().f_lineno - 1
    told = f"truth {os.getpid()} native {HERE} {line} {size} 1 - - - -\ntruth-end {os.getpid()}\n"
    os.write(1, told.encode())


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    processes = [context.Process(target=work, args=(500_000 + number,)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    work(700_000)
    sys.stdout.flush()
    os._exit(max(process.exitcode for process in processes))
