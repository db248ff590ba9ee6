# cause: in-flight-bounded
# class: processes
# report: https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.wait
# verdict: plateau
# note: At most twelve calls are under way; wait gives back finished ones before new ones are submitted.

import concurrent.futures
import multiprocessing
import os
import random
import zlib

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2500"))
WINDOW = 12


def pack(block):
    return len(zlib.compress(block, 1))


def blocks(rng):
    for _ in range(ITERATIONS):
        yield rng.randbytes(30_000) + bytes(30_000)


def main():
    packed = 0
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        running = set()
        for block in blocks(random.Random(61)):
            running.add(pool.submit(pack, block))
            if len(running) >= WINDOW:
                done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                packed += sum(future.result() for future in done)
        packed += sum(future.result() for future in concurrent.futures.as_completed(running))
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
