# cause: shared-memory-unlinked
# class: processes
# report: https://docs.python.org/3/library/multiprocessing.shared_memory.html#multiprocessing.shared_memory.SharedMemory.unlink
# verdict: clean
# note: A block of half a megabyte per iteration, closed and unlinked when its child process has read it.

import multiprocessing
import os
from multiprocessing import shared_memory

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "250"))
SIZE = 524_288


def total(name, answer):
    block = shared_memory.SharedMemory(name=name)
    answer.send(sum(block.buf[::64]))
    block.close()


def exchange(context, number):
    block = shared_memory.SharedMemory(create=True, size=SIZE)
    try:
        block.buf[:] = bytes([number % 251]) * SIZE
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=total, args=(block.name, there))
        child.start()
        there.close()
        answer = here.recv()
        child.join()
        child.close()
        here.close()
        return answer
    finally:
        block.close()
        block.unlink()


def main():
    context = multiprocessing.get_context("fork")
    answers = 0
    for number in range(ITERATIONS):
        answers += exchange(context, number)
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
