# cause: retrace-by-shape
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/38002
# verdict: leak
# line: 35
# bytes-per-iteration: 220000
# holder: function
# fix: input_signature, reduce_retracing, pad, None
# needs: tensorflow
# note: Every new sentence length is a new input type of the traced function; the size of a trace is TensorFlow's, measured.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

TABLE = tf.random.stateless_normal([1000, 16], seed=[1, 2])


@tf.function
def encode(tokens):
    vectors = tf.gather(TABLE, tokens)
    weights = tf.nn.softmax(tf.reduce_sum(vectors, axis=-1))
    return tf.tensordot(weights, vectors, axes=1)


class Encoder:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def run(self, length):
        tokens = self.generator.integers(0, 1000, length).astype(np.int32)
        return float(encode(tf.convert_to_tensor(tokens))[0])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "110"))
    encoder = Encoder(3)
    total = 0.0
    for number in range(iterations):
        total += encoder.run(5 + number)
    print(total)
    print(f"truth iterations={iterations}")


main()
