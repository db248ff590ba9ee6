# cause: sparse-copies-dropped
# class: numpy
# report: https://github.com/scipy/scipy/issues/22702
# verdict: clean
# needs: numpy, scipy
# note: Each step copies a sparse matrix and multiplies it; the copies go at the end of the step.

import os

import numpy as np
from scipy import sparse


def step(matrix, vector):
    damped = matrix.copy()
    damped.data *= 0.5
    product = damped @ matrix.T
    return product @ vector


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "200"))
    matrix = sparse.random(3000, 3000, density=0.004, format="csr", random_state=1)
    vector = np.ones(3000)
    for _ in range(iterations):
        vector = step(matrix, vector)
        vector /= np.linalg.norm(vector) + 1e-9
    print(float(vector.sum()))
    print(f"truth iterations={iterations}")


main()
