# cause: bounded-keys
# class: plain-python
# report: https://github.com/PyCQA/flake8-bugbear/issues/323
# verdict: plateau
# note: A Counter of a few hundred possible keys; reading a key that is not there does not insert it.

import os
import random
from collections import Counter

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD")
CODES = (200, 201, 204, 301, 302, 304, 400, 401, 403, 404, 409, 410, 500, 502, 503)


def parse(line):
    method, path, code, size = line.split(" ")
    return method, path.split("/")[1], int(code), int(size)


def lines(rng, count):
    for _ in range(count):
        yield f"{rng.choice(METHODS)} /part{rng.randrange(12)}/{rng.random()} {rng.choice(CODES)} {rng.randrange(90000)}"


def main():
    rng = random.Random(19)
    counts = Counter()
    sizes = Counter()
    missing = 0
    for _ in range(ITERATIONS):
        for line in lines(rng, 150):
            method, part, code, size = parse(line)
            counts[method, part, code] += 1
            sizes[part] += size
            missing += counts[method, part, -code]
    print(f"truth iterations={ITERATIONS}")
    return missing


main()
