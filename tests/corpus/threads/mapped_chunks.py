# cause: results-reduced
# class: threads
# report: https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.Executor.map
# verdict: clean
# note: map is called for a chunk at a time and its results are added up as they come.

import os
from concurrent.futures import ThreadPoolExecutor

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "2000"))
CHUNK = 20


def sieve(limit):
    flags = bytearray([1]) * limit
    for number in range(2, int(limit**0.5) + 1):
        if flags[number]:
            flags[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return [number for number in range(2, limit) if flags[number]]


def chunks(total):
    for start in range(0, total, CHUNK):
        yield range(5000 + start % 1000, 5000 + start % 1000 + min(CHUNK, total - start))


with ThreadPoolExecutor(max_workers=2) as pool:
    primes = 0
    for chunk in chunks(ITERATIONS):
        for found in pool.map(sieve, chunk):
            primes += len(found)

print(f"truth iterations={ITERATIONS}")
