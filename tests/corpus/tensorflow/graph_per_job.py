# cause: graph-and-session-per-job
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/14181
# verdict: clean
# needs: tensorflow
# note: Every job has a graph and a session of its own and both are closed with it.

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


def job(batch):
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [None, 64])
        weights = tf.ones([64, 32])
        outputs = tf.reduce_mean(tf.nn.relu(tf.matmul(inputs, weights)))
        with tf.Session() as session:
            return float(session.run(outputs, {inputs: batch}))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "100"))
    batch = np.ones((16, 64), dtype=np.float32)
    total = 0.0
    for number in range(iterations):
        total += job(batch)
        if number % 10 == 9:
            gc.collect()
    print(total)
    print(f"truth iterations={iterations}")


main()
