# cause: concat-copies-dropped
# class: numpy
# report: https://github.com/pandas-dev/pandas/issues/44982
# verdict: clean
# needs: numpy, pandas
# note: Every iteration concatenates two frames into a new one of 3.2 MB and drops it; glibc gives blocks of that size back.

import os

import numpy as np
import pandas as pd


def month(number):
    values = np.arange(20000) + number
    return pd.DataFrame({"id": values, "amount": values * 0.5, "tax": values * 0.1, "day": values % 30})


def quarter(first):
    frames = [month(first + offset) for offset in range(5)]
    joined = pd.concat(frames, ignore_index=True)
    return float(joined.groupby("day")["amount"].sum().max())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "200"))
    total = 0.0
    for number in range(iterations):
        total += quarter(number)
    print(total)
    print(f"truth iterations={iterations}")


main()
