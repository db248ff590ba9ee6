# cause: models-keyed-by-float
# class: numpy
# report: https://docs.scipy.org/doc/scipy/reference/generated/scipy.interpolate.CubicSpline.html
# verdict: leak
# line: 27
# bytes-per-iteration: 182000
# holder: models
# fix: round, bound, lru, maxsize
# needs: numpy, scipy
# note: Fits are cached by a temperature that never repeats exactly; a spline keeps four coefficients of 4,095 intervals and its 4,096 knots.

import os

import numpy as np
from scipy.interpolate import CubicSpline


class Calibration:
    def __init__(self):
        self.models = {}
        self.generator = np.random.default_rng(8)

    def model(self, temperature):
        model = self.models.get(temperature)
        if model is None:
            knots = np.linspace(0.0, 10.0, 4096)
            model = CubicSpline(knots, np.sin(knots) + temperature)
            self.models[temperature] = model
        return model

    def correct(self, readings):
        temperature = 20.0 + self.generator.normal() * 0.1
        return float(self.model(temperature)(readings).mean())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1000"))
    calibration = Calibration()
    readings = np.linspace(1.0, 9.0, 2000)
    total = 0.0
    for _ in range(iterations):
        total += calibration.correct(readings)
    print(len(calibration.models), total)
    print(f"truth iterations={iterations}")


main()
