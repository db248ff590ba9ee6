# cause: warning-registry
# class: plain-python
# report: https://github.com/python/cpython/issues/97557
# verdict: leak
# line: 31
# bytes-per-iteration: 6100
# holder: __warningregistry__
# fix: constant, simplefilter, ignore, same text
# note: The warnings module notes every text that it has shown in the module's __warningregistry__; texts with numbers in them are all different.

import os
import warnings

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))
SHOWN = {"count": 0}


def count_only(message, category, filename, lineno, file=None, line=None):
    SHOWN["count"] += 1


warnings.simplefilter("default")
warnings.showwarning = count_only


def convert(row, values):
    converted = []
    for value in values:
        converted.append(round(value * 0.3048, 4))
    if min(converted) < 0:
        warnings.warn(f"row {row}: negative lengths in {', '.join(f'{v:.3f}' for v in values)}")
    return converted


def rows():
    row = 0
    while row < ITERATIONS:
        yield row, [((row * 31 + n * 17) % 2000) - 1000 + n / 7 for n in range(600)]
        row += 1


total = 0.0
for row, values in rows():
    total += sum(convert(row, values))

print(f"truth iterations={ITERATIONS}")
