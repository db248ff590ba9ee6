# cause: exceptions-kept
# class: plain-python
# report: https://github.com/python/mypy/issues/4807
# verdict: leak
# line: 26
# bytes-per-iteration: 14900
# holder: failures
# fix: with_traceback, traceback, message
# note: The list keeps exceptions; each exception keeps its traceback, the traceback its frames, and a frame its locals, here the decoded document.

import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class BadChecksum(ValueError):
    pass


def fetch(rng):
    return rng.randbytes(2000)


def verify(raw, expected):
    decoded = raw.hex() * 3
    found = sum(decoded.encode()) % 251
    if found != expected:
        raise BadChecksum(f"checksum {found}, expected {expected}")
    return found


def run(source, failures):
    good = 0
    for raw in source:
        try:
            good += verify(raw, -1)
        except BadChecksum as error:
            failures.append(error)
    return good


def main():
    rng = random.Random(3)
    failures = []
    run((fetch(rng) for _ in range(ITERATIONS)), failures)
    summary = {}
    for error in failures:
        summary[str(error)] = summary.get(str(error), 0) + 1
    print(f"truth iterations={ITERATIONS}")


main()
