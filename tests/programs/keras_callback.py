"""A model that is fitted once: the script has no loop, Keras has. A callback keeps the weights of every epoch, or the last ones. Arguments: keep or
last, and the number of epochs. Says

    epochs NUMBER line LINE
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np


class Weights(keras.callbacks.Callback):
    def __init__(self, keeps_all):
        super().__init__()
        self.keeps_all = keeps_all
        self.kept = []
        self.line = 0

    def on_epoch_end(self, epoch, logs=None):
        self.line = sys._getframe().f_lineno + 1
        weights = self.model.get_weights()
        self.kept = self.kept + [weights] if self.keeps_all else [weights]


def build():
    layers = [keras.Input((100,)), keras.layers.Dense(512), keras.layers.Dense(256), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(optimizer="adam", loss="mse")
    return model


def main(what, epochs):
    x = np.random.rand(600, 100).astype("float32")
    weights = Weights(what == "keep")
    build().fit(x, x.sum(axis=1, keepdims=True), batch_size=100, epochs=epochs, verbose=0, callbacks=[weights])
    print("epochs", epochs, "line", weights.line, [len(name) for name in ("a", "few", "names", "at", "the", "end")])


main(sys.argv[1], int(sys.argv[2]))
