# cause: persistent-tapes-kept
# class: tensorflow
# report: https://github.com/sql-machine-learning/elasticdl/issues/1144
# verdict: leak
# line: 26
# bytes-per-iteration: 137000
# holder: tapes
# fix: del, persistent, drop
# needs: tensorflow
# note: The tapes are persistent and kept by their step's number, with what they recorded for the gradients: the output of tanh (128 KiB).

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Explainer:
    def __init__(self):
        self.weights = tf.Variable(tf.random.stateless_normal([128, 256], seed=[3, 4]))
        self.tapes = {}

    def step(self, number, inputs):
        with tf.GradientTape(persistent=True) as tape:
            hidden = tf.tanh(inputs @ self.weights)
            value = tf.reduce_mean(hidden)
        self.tapes[number] = tape
        gradient = tape.gradient(value, self.weights)
        return float(tf.norm(gradient))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "500"))
    explainer = Explainer()
    inputs = tf.random.stateless_normal([128, 128], seed=[5, 6])
    total = 0.0
    for number in range(iterations):
        total += explainer.step(number, inputs)
    print(total)
    print(f"truth iterations={iterations}")


main()
