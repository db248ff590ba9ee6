# cause: generators-all-the-way
# class: plain-python
# report: https://docs.python.org/3/howto/functional.html#generators
# verdict: clean
# note: Rows are made, parsed, filtered and added up one by one by a chain of generators; none is kept.

import csv
import itertools
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


def text(part):
    for row in range(200):
        yield f"{part},{row},{part * row % 997},customer {row % 40},{row / 7:.3f}\n"


def rows(parts):
    for part in parts:
        yield from csv.reader(text(part))


def expensive(stream):
    return (row for row in stream if int(row[2]) > 500)


def amounts(stream):
    for row in stream:
        yield float(row[4])


total = 0.0
stream = amounts(expensive(rows(range(ITERATIONS))))
while True:
    chunk = list(itertools.islice(stream, 1000))
    if not chunk:
        break
    total += sum(chunk)

print(f"truth iterations={ITERATIONS}")
