# cause: memmap-pages-become-resident
# class: numpy
# report: https://github.com/numpy/numpy/issues/26532
# verdict: plateau
# needs: numpy
# note: A mapped file of 48 MiB is read in parts again and again; its pages become resident during the first pass and that is all.

import os
import tempfile

import numpy as np

PART = 128 * 1024


class Archive:
    def __init__(self, path):
        self.values = np.memmap(path, dtype=np.float32, mode="r")

    def part_mean(self, number):
        parts = len(self.values) // PART
        start = number % parts * PART
        return float(self.values[start:start + PART].mean())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "archive.bin")
        with open(path, "wb") as out:
            for block in range(48):
                np.full(256 * 1024, block, dtype=np.float32).tofile(out)
        archive = Archive(path)
        total = 0.0
        for number in range(iterations):
            total += archive.part_mean(number)
    print(total)
    print(f"truth iterations={iterations}")


main()
