# cause: variables-made-and-dropped
# class: tensorflow
# report: https://www.tensorflow.org/guide/variable
# verdict: clean
# needs: tensorflow
# note: Every restart makes new variables of 1 MB and a new optimizer state by hand; the old ones go as they are replaced.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def restart(seed):
    start = tf.random.stateless_normal([500, 500], seed=[seed, 1])
    return tf.Variable(start), tf.Variable(tf.zeros([500, 500]))


def descend(weights, moment):
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(weights))
        gradient = tape.gradient(loss, weights)
        moment.assign(0.9 * moment + gradient)
        weights.assign_sub(0.1 * moment)
    return float(loss)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "100"))
    total = 0.0
    for _ in range(iterations):
        weights, moment = restart(13)
        total += descend(weights, moment)
    print(total)
    print(f"truth iterations={iterations}")


main()
