# cause: model-called-in-loop
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/44711
# verdict: clean
# needs: tensorflow
# note: The model is called directly for every request; outputs become numbers and go.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


class Ranking:
    def __init__(self):
        self.model = tf.keras.Sequential([
            tf.keras.layers.Input((24,)),
            tf.keras.layers.Dense(64, activation="relu"),
            tf.keras.layers.Dense(1),
        ])

    def best(self, candidates):
        scores = self.model(candidates, training=False)
        return int(tf.argmax(scores[:, 0]))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "600"))
    generator = np.random.default_rng(12)
    candidates = tf.constant(generator.random((50, 24), dtype=np.float32))
    ranking = Ranking()
    total = 0
    for _ in range(iterations):
        total += ranking.best(candidates)
    print(total)
    print(f"truth iterations={iterations}")


main()
