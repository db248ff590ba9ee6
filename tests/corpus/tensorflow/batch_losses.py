# cause: eager-tensors-in-list
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/21584
# verdict: leak
# line: 24
# bytes-per-iteration: 66000
# holder: errors
# fix: numpy, float, reduce, mean
# needs: tensorflow
# note: The monitor keeps the errors of every sample of every batch (16,384 floats) as an eager tensor to average them some day.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Monitor:
    def __init__(self):
        self.errors = []

    def update(self, outputs, targets):
        errors = tf.square(outputs - targets)
        self.errors.append(errors)
        return float(tf.reduce_max(errors))

    def recent(self):
        return float(tf.reduce_mean(tf.stack(self.errors[-10:])))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "1500"))
    monitor = Monitor()
    outputs = tf.random.stateless_uniform([16384], seed=[7, 8])
    targets = tf.zeros([16384])
    total = 0.0
    for _ in range(iterations):
        total += monitor.update(outputs, targets) + monitor.recent()
    print(total)
    print(f"truth iterations={iterations}")


main()
