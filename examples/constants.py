"""A loop that closes its session on every iteration and still grows: each iteration adds operations to the default graph, and
a graph never frees its constants."""

import numpy
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
batch = numpy.ones((1000, 1000), dtype="float32")

for step in range(30):
    with tf.Session() as session:
        left = tf.constant(batch)
        right = tf.constant(batch)
        session.run(tf.add(left, right))
