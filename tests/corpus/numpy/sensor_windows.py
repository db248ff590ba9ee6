# cause: slice-keeps-array
# class: numpy
# report: https://github.com/numpy/numpy/issues/10273
# verdict: leak
# line: 23
# bytes-per-iteration: 98500
# holder: onsets
# fix: copy
# needs: numpy
# note: The kept onset is a view of 32 values whose base is the whole recording of 96 KiB.

import os

import numpy as np


class Station:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        self.onsets = []

    def record(self):
        return self.generator.standard_normal(12288)

    def detect(self):
        signal = self.record()
        spectrum = np.abs(np.fft.rfft(signal))
        start = int(spectrum[1:3000].argmax())
        self.onsets.append(signal[start:start + 32])
        return float(spectrum.max())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1800"))
    station = Station(5)
    loudest = 0.0
    for _ in range(iterations):
        loudest = max(loudest, station.detect())
    print(len(station.onsets), "onsets", loudest)
    print(f"truth iterations={iterations}")


main()
