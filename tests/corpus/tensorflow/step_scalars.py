# cause: eager-scalar-cache
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/19671
# verdict: leak
# line: 25
# bytes-per-iteration: 41000
# holder: cache
# fix: Variable, ndarray, numpy
# needs: tensorflow
# note: TensorFlow caches the tensor of every distinct Python scalar; 64 new steps an iteration leave about 640 bytes each although no tensor is kept.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Clock:
    def __init__(self):
        self.step = 0

    def tick(self):
        self.step += 1
        return tf.constant(self.step)


def run(clock, weights):
    for _ in range(64):
        newest = clock.tick()
    return float(tf.reduce_mean(weights + tf.cast(newest, tf.float32)))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    clock = Clock()
    weights = tf.zeros([16])
    total = 0.0
    for _ in range(iterations):
        total += run(clock, weights)
    print(total)
    print(f"truth iterations={iterations}")


main()
