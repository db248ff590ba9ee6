# cause: callback-keeps-weights
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/34876
# verdict: leak
# line: 26
# bytes-per-iteration: 133000
# holder: snapshots
# fix: bound, save, last, every
# needs: tensorflow
# note: The callback keeps a copy of the weights (33,021 floats) after every batch; one iteration is one batch.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


class Trajectory(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.snapshots = []

    def on_train_batch_end(self, batch, logs=None):
        self.snapshots.append([weights.copy() for weights in self.model.get_weights()])

    def length(self):
        steps = zip(self.snapshots[-2:], self.snapshots[-1:])
        return sum(float(np.abs(a - b).sum()) for old, new in steps for a, b in zip(old, new))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "300"))
    generator = np.random.default_rng(7)
    inputs = generator.random((16 * iterations, 128), dtype=np.float32)
    targets = inputs.mean(axis=1, keepdims=True)
    model = tf.keras.Sequential([tf.keras.layers.Input((128,)), tf.keras.layers.Dense(254, activation="relu"), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    trajectory = Trajectory()
    model.fit(inputs, targets, batch_size=16, epochs=1, verbose=0, callbacks=[trajectory])
    print(len(trajectory.snapshots), trajectory.length())
    print(f"truth iterations={iterations}")


main()
