# cause: object-array-cycle
# class: numpy
# report: https://github.com/numpy/numpy/issues/1601
# verdict: leak
# line: 30
# bytes-per-iteration: 37500
# holder: Lattice
# fix: weakref, list, clear
# needs: numpy
# note: Lattice, its object array and the sites point to each other; NumPy's arrays take no part in garbage collection, so the cycle is never freed. A lattice has 32 KiB of field, and its 25 sites and array about 5 KB.

import os

import numpy as np


class Site:
    def __init__(self, lattice, row, column):
        self.lattice = lattice
        self.row = row
        self.column = column

    def energy(self):
        field = self.lattice.field
        return float(field[self.row * 64 + self.column] ** 2)


class Lattice:
    def __init__(self, size, seed):
        self.field = np.random.default_rng(seed).standard_normal(4096)
        self.sites = np.empty((size, size), dtype=object)
        for row in range(size):
            for column in range(size):
                self.sites[row, column] = Site(self, row, column)

    def total(self):
        return sum(site.energy() for site in self.sites.flat)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "4500"))
    total = 0.0
    for seed in range(iterations):
        total += Lattice(5, seed).total()
    print(total)
    print(f"truth iterations={iterations}")


main()
