# cause: predict-cycles-wait-for-gc
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/58676
# verdict: clean
# needs: tensorflow
# note: Every call of predict leaves a small cycle of iterators and handlers; the collection after each 10 requests frees them.

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def build():
    return tf.keras.Sequential([tf.keras.layers.Input((32,)), tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(2)])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "30"))
    model = build()
    batch = np.random.default_rng(15).random((8, 32), dtype=np.float32)
    total = 0.0
    for number in range(iterations):
        total += float(model.predict(batch, verbose=0).sum())
        if number % 10 == 9:
            gc.collect()
    print(total)
    print(f"truth iterations={iterations}")


main()
