# cause: arrow-slice-keeps-buffers
# class: numpy
# report: https://github.com/pola-rs/polars/issues/3972
# verdict: leak
# line: 26
# bytes-per-iteration: 172000
# holder: samples
# fix: take, copy, combine
# needs: numpy, pyarrow
# note: A slice of an Arrow table is an offset and a length over the same buffers; ten rows keep a column of 20,000 values (160,000 bytes).

import os

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Sampler:
    def __init__(self):
        self.generator = np.random.default_rng(11)
        self.samples = []

    def fetch(self):
        values = self.generator.random(20000)
        price = pc.add(pa.array(values), 1.0)
        return pa.table({"price": price})

    def sample(self):
        table = self.fetch()
        self.samples.append(table.slice(0, 10))
        return pc.mean(table["price"]).as_py() + pc.max(table["price"]).as_py()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1500"))
    sampler = Sampler()
    total = 0.0
    for _ in range(iterations):
        total += sampler.sample()
    print(len(sampler.samples), total)
    print(f"truth iterations={iterations}")


main()
