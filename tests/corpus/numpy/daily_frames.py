# cause: frames-in-list
# class: numpy
# report: https://github.com/pandas-dev/pandas/issues/49582
# verdict: leak
# line: 24
# bytes-per-iteration: 161500
# holder: days
# fix: aggregate, write, drop, bound
# needs: numpy, pandas
# note: Every day's frame (5,000 rows of four 8-byte columns) goes into a list although only the totals are read.

import os

import numpy as np
import pandas as pd


class Report:
    def __init__(self):
        self.days = []
        self.totals = []

    def add(self, values):
        frame = pd.DataFrame(values.copy(), columns=["price", "count", "weight", "rebate"])
        self.days.append(frame)
        self.totals.append(float((frame["price"] * frame["count"]).sum()))

    def newest(self):
        return self.days[-1].describe().loc["mean"].sum()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "300"))
    values = np.random.default_rng(2).random((5000, 4))
    report = Report()
    total = 0.0
    for day in range(iterations):
        report.add(values)
        total += report.newest()
    print(total, sum(report.totals))
    print(f"truth iterations={iterations}")


main()
