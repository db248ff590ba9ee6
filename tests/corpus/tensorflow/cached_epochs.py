# cause: dataset-cache-fills
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/30126
# verdict: plateau
# needs: tensorflow
# note: The pipeline caches its 400 rows of 80 KB during the first epoch; one iteration is one row and later epochs read the cache.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def prepare(number):
    base = tf.cast(number, tf.float32)
    return tf.sin(tf.linspace(base, base + 1.0, 20000))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
    rows = tf.data.Dataset.range(400).map(prepare).cache().repeat()
    total = 0.0
    for values in rows.take(iterations):
        total += float(values[5])
    print(total)
    print(f"truth iterations={iterations}")


main()
