# cause: retrace-by-python-number
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/31175
# verdict: leak
# line: 39
# bytes-per-iteration: 290000
# holder: function
# fix: tensor, input_signature, reduce_retracing, constant
# needs: tensorflow
# note: The rate is a Python float and another one in every step, so each step traces the function again and its cache keeps all traces; the size of a trace is TensorFlow's, measured.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Trainer:
    def __init__(self):
        self.weights = tf.Variable(tf.ones([64, 8]))

    @tf.function
    def step(self, inputs, rate):
        with tf.GradientTape() as tape:
            outputs = tf.nn.relu(inputs @ self.weights)
            loss = tf.reduce_mean(outputs * outputs)
        gradient = tape.gradient(loss, self.weights)
        self.weights.assign_sub(rate * gradient)
        return loss


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "100"))
    trainer = Trainer()
    inputs = tf.ones([32, 64])
    total = 0.0
    for number in range(iterations):
        total += float(trainer.step(inputs, 0.1 / (1 + number)))
    print(total)
    print(f"truth iterations={iterations}")


main()
