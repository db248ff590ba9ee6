# cause: stdlib-cache-fills
# class: plain-python
# report: https://github.com/python/cpython/pull/96347
# verdict: plateau
# note: Patterns come from users and are all different; re keeps the last 512 of them and no more.

import os
import re

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
TEXT = "\n".join(f"2026-11-{day:02d} unit {day * 37 % 101} said {'yes' if day % 3 else 'no'} to request {day * day}" for day in range(1, 29))


def pattern(number):
    return rf"unit (\d*{number % 10}\d*) said (yes|no) to request (?P<request_{number}>\d+)"


def search(number):
    found = re.findall(pattern(number), TEXT)
    return len(found)


hits = 0
for number in range(ITERATIONS):
    hits += search(number)

print(f"truth iterations={ITERATIONS}")
