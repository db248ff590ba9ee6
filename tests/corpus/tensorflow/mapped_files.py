# cause: pipelines-made-and-dropped
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/44176
# verdict: clean
# needs: tensorflow
# note: Each iteration builds a pipeline with a map and reads it to the end; pipeline, iterator and function go with it.

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def scale(value):
    return tf.cast(value, tf.float32) * 0.5


def read(count):
    dataset = tf.data.Dataset.range(count).map(scale).batch(32)
    return sum(float(tf.reduce_sum(batch)) for batch in dataset)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "60"))
    total = 0.0
    for number in range(iterations):
        total += read(128)
        if number % 10 == 9:
            gc.collect()
    print(total)
    print(f"truth iterations={iterations}")


main()
