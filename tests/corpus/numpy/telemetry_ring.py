# cause: preallocated-ring-fills
# class: numpy
# report: https://numpy.org/doc/stable/reference/generated/numpy.zeros.html
# verdict: plateau
# needs: numpy
# note: The ring is one array of zeros of 40 MiB whose pages become resident as they are first written; after that it is used again.

import os

import numpy as np


class Telemetry:
    def __init__(self, rows, columns):
        self.values = np.zeros((rows, columns))
        self.next = 0

    def add(self, rows):
        for row in rows:
            self.values[self.next] = row
            self.next = (self.next + 1) % len(self.values)

    def level(self):
        newest = self.values[max(self.next - 64, 0):self.next]
        return float(newest.mean()) if len(newest) else 0.0


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "20000"))
    telemetry = Telemetry(10240, 512)
    batch = np.random.default_rng(1).random((16, 512))
    total = 0.0
    for _ in range(iterations):
        telemetry.add(batch)
        total += telemetry.level()
    print(total)
    print(f"truth iterations={iterations}")


main()
