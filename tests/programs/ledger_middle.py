"""A loop that stands in its middle: it says `ready`, waits for a line of its input, and goes on. The argument says what it
does: `numpy` keeps arrays and objects, `tensorflow` trains."""

import sys


def with_numpy():
    import numpy

    kept = []

    def step():
        kept.append((numpy.ones(1 << 17), [bytes(100 + index % 400) for index in range(500)]))
        return sum(array.nbytes for array, _ in kept)

    return step


def with_tensorflow():
    import tensorflow as tf

    weights = tf.Variable(tf.random.normal([512, 512]))
    optimizer = tf.keras.optimizers.SGD(0.01)

    @tf.function
    def train(batch):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.matmul(batch, weights)))
        gradient = tape.gradient(loss, weights)
        optimizer.apply_gradients([(gradient, weights)])
        return loss

    def step():
        train(tf.random.normal([256, 512]))
        return 0

    return step


step = {"numpy": with_numpy, "tensorflow": with_tensorflow}[sys.argv[1]]()
for number in range(60):
    arrays = step()
    if number == 30:
        print("ledger arrays", arrays)
        print("ready", flush=True)
        sys.stdin.readline()
