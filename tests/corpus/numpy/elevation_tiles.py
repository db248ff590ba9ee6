# cause: memmaps-kept
# class: numpy
# report: https://github.com/numpy/numpy/issues/28825
# verdict: leak
# line: 27
# bytes-per-iteration: 262144
# holder: maps
# fix: close, del, bound, lru
# needs: numpy
# note: Every request maps a tile of 256 KiB at an offset of its own and keeps the mapping; its pages are read and stay resident in the process.

import os
import tempfile

import numpy as np

TILE = 256 * 1024


class Elevation:
    def __init__(self, path):
        self.path = path
        self.maps = {}

    def tile(self, offset):
        if offset not in self.maps:
            self.maps[offset] = np.memmap(self.path, dtype=np.int16, mode="r", offset=offset, shape=(TILE // 2,))
        return self.maps[offset]

    def peak(self, offset):
        tile = self.tile(offset)
        total = 0
        for _ in range(50):
            total += int(tile.max()) + int(tile.min())
        return total


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    generator = np.random.default_rng(3)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "elevation.bin")
        generator.integers(0, 4000, size=2 * 1024 * 1024, dtype=np.int16).tofile(path)
        elevation = Elevation(path)
        total = 0
        for request in range(iterations):
            total += elevation.peak(request * 4096)
    print(total)
    print(f"truth iterations={iterations}")


main()
