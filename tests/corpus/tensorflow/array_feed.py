# cause: arrays-converted-and-dropped
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/35030
# verdict: plateau
# needs: tensorflow
# note: Arrays of 8 MB become tensors and go at once; after the first ones TensorFlow's pool keeps the pages and uses them again.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


def energy(array):
    tensor = tf.convert_to_tensor(array)
    return float(tf.reduce_mean(tf.square(tensor)))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    generator = np.random.default_rng(16)
    array = generator.random((1000, 2000), dtype=np.float32)
    total = 0.0
    for _ in range(iterations):
        total += energy(array * np.float32(0.5))
    print(total)
    print(f"truth iterations={iterations}")


main()
