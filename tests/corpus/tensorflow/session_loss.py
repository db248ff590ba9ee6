# cause: graph-grows-in-loop
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/9646
# verdict: leak
# line: 31
# bytes-per-iteration: 60000
# holder: graph
# fix: once, before, finalize, placeholder
# needs: tensorflow
# note: The squared difference is built inside the loop: two operations more in the graph and a new executor in the session for every run; the size is measured.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Model:
    def __init__(self):
        self.inputs = tf.placeholder(tf.float32, [None, 32])
        self.weights = tf.get_variable("weights", [32, 4])
        self.outputs = tf.tanh(tf.matmul(self.inputs, self.weights))
        self.session = tf.Session()
        self.session.run(tf.global_variables_initializer())

    def error(self, batch):
        squared = tf.reduce_mean(tf.square(self.outputs))
        return float(self.session.run(squared, {self.inputs: batch}))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "380"))
    model = Model()
    batch = np.random.default_rng(8).random((64, 32), dtype=np.float32)
    total = 0.0
    for _ in range(iterations):
        total += model.error(batch)
    print(total)
    print(f"truth iterations={iterations}")


main()
