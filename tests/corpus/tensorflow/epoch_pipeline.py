# cause: from-generator-per-epoch
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/37653
# verdict: leak
# line: 25, 35
# bytes-per-iteration: 1060000
# holder: _py_funcs
# fix: once, from_tensor_slices, reuse
# needs: tensorflow
# note: Every epoch makes a dataset from a generator that closes over the epoch's samples (1 MiB); TensorFlow's registry of Python functions keeps it.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


class Source:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)

    def samples(self):
        return self.generator.random((64, 4096), dtype=np.float32)

    def dataset(self):
        samples = self.samples()

        def rows():
            for row in samples:
                yield row

        signature = tf.TensorSpec([4096], tf.float32)
        return tf.data.Dataset.from_generator(rows, output_signature=signature).batch(16)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "40"))
    source = Source(5)
    total = 0.0
    for _ in range(iterations):
        for batch in source.dataset():
            total += float(tf.reduce_mean(batch))
    print(total)
    print(f"truth iterations={iterations}")


main()
