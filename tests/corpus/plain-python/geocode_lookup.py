# cause: cache-still-filling
# class: plain-python
# report: https://docs.python.org/3/library/functools.html#functools.lru_cache
# verdict: growth
# line: 21
# bytes-per-iteration: 11500
# holder: geocode
# fix: maxsize, smaller
# note: The cache has a bound of 20,000 entries, which this run does not reach: it grows, but it would stop.

import os
import random
from functools import lru_cache

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


@lru_cache(maxsize=20_000)
def geocode(address):
    rng = random.Random(address)
    outline = [(rng.gauss(45, 9), rng.gauss(10, 20)) for _ in range(100)]
    return tuple(outline)


def addresses(count):
    for number in range(count):
        yield f"{number} Long Street, District {number % 90}"


def main():
    north = -90.0
    for address in addresses(ITERATIONS):
        north = max(north, max(point[0] for point in geocode(address)))
    print(f"truth iterations={ITERATIONS}")


main()
