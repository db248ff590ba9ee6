# cause: shuffle-buffer-fills
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/35132
# verdict: plateau
# needs: tensorflow
# note: The shuffle buffer takes 1,000 rows of 40 KB before the first row comes out and keeps that many.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def row(number):
    return tf.cast(number, tf.float32) + tf.zeros([10000])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
    rows = tf.data.Dataset.range(500).repeat().map(row).shuffle(1000, seed=14)
    total = 0.0
    for values in rows.take(iterations):
        total += float(values[0])
    print(total)
    print(f"truth iterations={iterations}")


main()
