"""Loops around TensorFlow; says how many iterations the one of them made that counts, whether that can be known, and its line.

    tensorflow_loops.py          prints the kinds
    tensorflow_loops.py KIND     runs one
"""
import inspect
import sys


def tell(kind, function):
    passes, certainty, text = function()
    lines, first = inspect.getsourcelines(function)
    line = next(number for number, line in enumerate(lines, first) if text in line)
    print("loop", kind, passes, certainty, line, flush=True)


def two_sessions():
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    a = tf.placeholder(tf.float32)
    double, square = a * 2.0, a * a
    with tf.Session() as session:
        for number in range(130):
            session.run(double, {a: number})
            session.run(square, {a: number})
    return 130, "exact", "for number"


def keras_trials():
    import keras
    import numpy

    data, answers = numpy.ones((64, 4), "float32"), numpy.ones((64, 1), "float32")
    for trial in range(22):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(optimizer="sgd", loss="mse")
        model.fit(data, answers, batch_size=8, epochs=3, verbose=0)
    return 22, "exact", "for trial"


def eager_while():
    import tensorflow as tf

    total = tf.zeros((100, 100))
    passes = 0
    while passes < 140:
        total = total + tf.ones((100, 100))
        passes += 1
    return 140, "about", "while passes"


def function_step():
    import tensorflow as tf

    @tf.function
    def step(value):
        return tf.reduce_sum(value * value)

    values = [tf.ones((64, 64)) for _ in range(4)]
    for number in range(150):
        step(values[number % 4])
    return 150, "exact", "for number"


KINDS = {each.__name__: each for each in (two_sessions, keras_trials, eager_while, function_step)}
if len(sys.argv) < 2:
    print(*KINDS, sep="\n")
else:
    tell(sys.argv[1], KINDS[sys.argv[1]])
