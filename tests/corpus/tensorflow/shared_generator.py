# cause: generator-pipeline-made-once
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/123269
# verdict: clean
# needs: tensorflow
# note: One dataset from a generator is made before the loop and read from its beginning in every epoch.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf


class Source:
    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        signature = tf.TensorSpec([2048], tf.float32)
        self.dataset = tf.data.Dataset.from_generator(self.rows, output_signature=signature).batch(16)

    def rows(self):
        for _ in range(64):
            yield self.generator.random(2048, dtype=np.float32)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "60"))
    source = Source(17)
    total = 0.0
    for _ in range(iterations):
        for batch in source.dataset:
            total += float(tf.reduce_mean(batch))
    print(total)
    print(f"truth iterations={iterations}")


main()
