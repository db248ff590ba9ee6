"""A training loop that adds an operation to the graph on every iteration, in a line that looks like arithmetic."""

import numpy
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
inputs = tf.placeholder(tf.float32, [None, 10])
weights = tf.get_variable("weights", [10, 1])
loss = tf.reduce_mean(tf.square(tf.matmul(inputs, weights) - 1.0))
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
batch = numpy.ones((32, 10), dtype="float32")

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(100):
        session.run(train, {inputs: batch})
        penalty = tf.square(loss)
        session.run(penalty, {inputs: batch})
