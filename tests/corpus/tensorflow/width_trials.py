# cause: keras-model-per-trial
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/41973
# verdict: leak
# line: 32
# bytes-per-iteration: 3000000
# holder: gradient_registry
# fix: reuse, subprocess, once, build
# needs: tensorflow
# note: Each trial builds and fits a model; closures in the gradient registry keep the graphs of its train function although the session is cleared. The size is measured.

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def build(width):
    return tf.keras.Sequential([
        tf.keras.layers.Input((16,)),
        tf.keras.layers.Dense(width, activation="relu"),
        tf.keras.layers.Dense(1),
    ])


def trial(width, inputs, targets):
    model = build(width)
    model.compile(optimizer="adam", loss="mse")
    history = model.fit(inputs, targets, epochs=1, batch_size=32, verbose=0)
    return float(history.history["loss"][-1])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "8"))
    generator = np.random.default_rng(4)
    inputs = generator.random((128, 16), dtype=np.float32)
    targets = inputs.sum(axis=1, keepdims=True)
    best = 1e9
    for number in range(iterations):
        best = min(best, trial(8 + number, inputs, targets))
        tf.keras.backend.clear_session()
        gc.collect()
    print(best)
    print(f"truth iterations={iterations}")


main()
