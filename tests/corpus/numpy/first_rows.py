# cause: frame-slice-keeps-frame
# class: numpy
# report: https://pandas.pydata.org/docs/user_guide/copy_on_write.html
# verdict: leak
# line: 23
# bytes-per-iteration: 240500
# holder: previews
# fix: copy
# needs: numpy, pandas
# note: iloc with a slice is a lazy copy of five rows that shares the values of the whole frame (6,000 rows of five 8-byte columns).

import os

import numpy as np
import pandas as pd


class Catalogue:
    def __init__(self):
        self.previews = {}

    def load(self, number):
        values = np.full((6000, 5), float(number))
        values[:, 1] = np.arange(6000)
        return pd.DataFrame(values, columns=list("abcde"), copy=False)

    def register(self, number):
        frame = self.load(number)
        self.previews[number] = frame.iloc[:5]
        return float(frame["b"].mean() + frame.groupby("a")["c"].sum().iloc[0])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    catalogue = Catalogue()
    total = 0.0
    for number in range(iterations):
        total += catalogue.register(number)
    print(len(catalogue.previews), total)
    print(f"truth iterations={iterations}")


main()
