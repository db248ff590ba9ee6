# cause: traced-once-with-signature
# class: tensorflow
# report: https://www.tensorflow.org/guide/function
# verdict: clean
# needs: tensorflow
# note: The signature leaves the length open, so batches of any length use one trace, and the rate is a tensor.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

WEIGHTS = tf.Variable(tf.ones([32, 4]))


@tf.function(input_signature=[tf.TensorSpec([None, 32], tf.float32), tf.TensorSpec([], tf.float32)])
def step(inputs, rate):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(inputs @ WEIGHTS))
    WEIGHTS.assign_sub(rate * tape.gradient(loss, WEIGHTS))
    return loss


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "2000"))
    generator = np.random.default_rng(11)
    total = 0.0
    for number in range(iterations):
        inputs = generator.random((10 + number % 50, 32), dtype=np.float32)
        rate = np.float32(0.01 + 0.001 * (number % 10))
        total += float(step(tf.convert_to_tensor(inputs), tf.convert_to_tensor(rate)))
    print(total)
    print(f"truth iterations={iterations}")


main()
