# cause: functions-made-and-dropped
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/26311
# verdict: clean
# needs: tensorflow
# note: Each job traces a function of its own, but the function goes with the job and its trace with it.

import gc
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def job(power, inputs):
    @tf.function
    def evaluate(values):
        result = values
        for _ in range(power):
            result = result * values
        return tf.reduce_sum(result)

    return float(evaluate(inputs))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "80"))
    inputs = tf.linspace(0.0, 1.0, 500)
    total = 0.0
    for number in range(iterations):
        total += job(1 + number % 4, inputs)
        if number % 10 == 9:
            gc.collect()
    print(total)
    print(f"truth iterations={iterations}")


main()
