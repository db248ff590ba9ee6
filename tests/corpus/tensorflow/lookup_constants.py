# cause: constants-baked-into-graph
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/9091
# verdict: leak
# line: 27
# bytes-per-iteration: 268000
# holder: graph
# fix: placeholder, feed, once
# needs: tensorflow
# note: Each check writes its table (256 KiB) as a constant into the default graph, which keeps it for ever; no session is involved.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Catalogue:
    def __init__(self):
        self.entries = 0

    def check(self, table):
        values = tf.constant(table)
        self.entries += values.shape[0]
        known = tf.get_static_value(values)
        return float(known.mean() + known.std())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    generator = np.random.default_rng(9)
    table = generator.random((1024, 64), dtype=np.float32)
    catalogue = Catalogue()
    total = 0.0
    for number in range(iterations):
        total += catalogue.check(np.roll(table, number))
    print(catalogue.entries, total)
    print(f"truth iterations={iterations}")


main()
