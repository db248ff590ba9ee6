# cause: py-function-per-step
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/51839
# verdict: leak
# line: 21
# bytes-per-iteration: 167000
# holder: _py_funcs
# fix: once, def, reuse, numpy
# needs: tensorflow
# note: Each step passes a new closure to py_function; the registry keeps the closures with the levels (128 KiB) they refer to and its own record of each call.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def quantise(values, number):
    levels = np.linspace(0.0, 1.0 + number % 5, 16384)

    def nearest(tensor):
        return levels[np.searchsorted(levels, tensor.numpy())].astype(np.float32)

    return tf.py_function(nearest, [values], tf.float32)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    values = tf.constant(np.random.default_rng(6).random(2000, dtype=np.float32))
    total = 0.0
    for number in range(iterations):
        total += float(tf.reduce_sum(quantise(values, number)))
    print(total)
    print(f"truth iterations={iterations}")


main()
