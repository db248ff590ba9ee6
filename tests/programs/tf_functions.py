"""Programs that trace functions, make models and pipelines of TensorFlow in a loop.

    tf_functions.py          prints the kinds
    tf_functions.py KIND     runs one, and says what is true about it:

        truth rule line events bytes iterations sessions-made sessions-closed

as tf_graphs.py does.
"""
import inspect
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import tensorflow as tf


def tell(function):
    rule, text, events, size, iterations = function()
    lines, first = inspect.getsourcelines(function)
    line = next((number for number, line in enumerate(lines, first) if text and text in line), 0)
    print("truth", rule, line, events, size, iterations, 0, 0, flush=True)


def python_argument():
    @tf.function
    def step(value, scale):
        return tf.reduce_sum(value * scale)

    value = tf.ones([8])
    for number in range(40):
        step(value, float(number))  # here
    return "C3", "# here", 1, 0, 40


def new_shapes():
    @tf.function
    def step(value):
        return tf.reduce_sum(value * value)

    for number in range(40):
        step(tf.ones([number + 1]))  # here
    return "C3", "# here", 1, 0, 40


def trials():
    import keras

    data, answers = numpy.ones((4, 4), "float32"), numpy.ones((4, 1), "float32")
    for trial in range(22):
        keras.backend.clear_session()
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, answers, verbose=0)  # here
    return "C4", "# here", 2, 0, 22


def recompiled():
    import keras

    data, answers = numpy.ones((4, 4), "float32"), numpy.ones((4, 1), "float32")
    model = keras.Sequential([keras.layers.Dense(1)])
    for trial in range(22):
        model.compile(optimizer="sgd", loss="mse")
        model.fit(data, answers, verbose=0)
    return "C6", "model.compile", 1, 0, 22


def with_constant(length):
    """Traced with each new number, and each trace keeps the array."""
    array = numpy.arange(length, dtype="float32")

    @tf.function
    def step(number):
        return tf.reduce_sum(tf.constant(array) * number)

    return step


def large_constant():
    step = with_constant(500_000)
    for number in range(30):
        step(number)  # here
    return "C32", "# here", 1, 0, 30


def small_constant():
    step = with_constant(500)
    for number in range(30):
        step(number)  # here
    return "C3", "# here", 1, 0, 30


def predicted():
    """What each call leaves waits for the collector, which is switched off."""
    import gc

    model, data, answers = small_model()
    gc.disable()
    for step in range(30):
        model.predict(data, verbose=0)  # here
    return "C7", "# here", 0, 0, 30


def fitted():
    import gc

    model, data, answers = small_model()
    gc.disable()
    for step in range(30):
        model.fit(data, answers, verbose=0)  # here
    return "C7", "# here", 0, 0, 30


def predicted_and_collected():
    """Clean: the collector comes by itself."""
    model, data, answers = small_model()
    for step in range(30):
        model.predict(data, verbose=0)
    return "-", "", 0, 0, 30


def own_cycles():
    """The program's own, beside calls for one batch, which leave none."""
    import gc

    model, data, answers = small_model()
    gc.disable()
    for step in range(300):
        model.predict_on_batch(data)
        cycle = [bytearray(20_000)]  # here
        cycle.append(cycle)
    return "C36", "# here", 0, 20_000, 300


def small_model():
    import keras

    data, answers = numpy.ones((4, 4), "float32"), numpy.ones((4, 1), "float32")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")
    return model, data, answers


def models_kept():
    import keras

    models = []
    for trial in range(30):
        models.append(keras.Sequential([keras.Input((64,)), keras.layers.Dense(64)]))  # here
    # Since Keras 3 one of this kind has another inside.
    return "C5", "# here", 1 if keras.__version__.startswith("2.") else 2, 0, 30


def tensors_kept():
    losses = []
    start = tf.ones([10_000])
    for step in range(200):
        losses.append(start * start)  # here
    return "C8", "# here", 0, 40_000, 200


def tapes_kept():
    tapes = []
    weights = tf.Variable(tf.ones([500]))
    for step in range(60):
        with tf.GradientTape(persistent=True) as tape:  # here
            loss = tf.reduce_sum(weights * weights)
        tape.gradient(loss, weights)
        tapes.append(tape)
    return "C20", "# here", 1, 0, 60


def iterators_kept():
    kept = []
    # An iterator that tunes itself may wait for seconds when it goes, for a thread that missed that it was told to end.
    options = tf.data.Options()
    options.autotune.enabled = False
    numbers = tf.data.Dataset.range(100).with_options(options)
    for epoch in range(60):
        iterator = iter(numbers)  # here
        next(iterator)
        kept.append(iterator)
    return "C13", "# here", 1, 0, 60


def generators():
    for epoch in range(24):
        numbers = tf.data.Dataset.from_generator(lambda: iter(range(4)), output_types=tf.int32)  # here
        for number in numbers:
            pass
    return "C12", "# here", 3, 0, 24


def py_functions():
    for epoch in range(60):
        tf.py_function(lambda value: value + 1, [tf.constant(1)], tf.int32)  # here
    return "C12", "# here", 1, 0, 60


def new_scalars():
    for number in range(3000):
        tf.constant(number)  # here
    return "C35", "# here", 0, 0, 3000


def same_scalars():
    """Clean: the cache has them after the first iteration."""
    for number in range(400):
        tf.constant(number % 7)
    return "-", "", 0, 0, 400


def traced_once():
    """Clean: tensors of one shape, and Python values that are always the same."""

    @tf.function
    def step(value, training):
        return tf.reduce_sum(value * 2.0)

    for number in range(60):
        step(tf.fill([8], float(number)), True)
    return "-", "", 0, 0, 60


def defined_in_loop():
    """Clean: each function goes with its iteration, as soon as the collector comes to it."""
    for number in range(40):

        @tf.function
        def step(value):
            return value + 1.0

        step(tf.ones([4]))
    return "-", "", 0, 0, 40


def healthy():
    """Clean: whatever an iteration makes goes with it."""
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    numbers = tf.data.Dataset.range(100)
    weights = tf.Variable(tf.ones([500]))
    data = numpy.ones((4, 4), "float32")
    for step in range(40):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_sum(weights * weights)
        tape.gradient(loss, weights)
        next(iter(numbers))
        variable = tf.Variable(tf.ones([1000]))
        model(data, training=False)
        model.predict(data, verbose=0)
    return "-", "", 0, 0, 40


def mapped_in_loop():
    """Clean: so does each pipeline."""
    for number in range(40):
        for value in tf.data.Dataset.range(4).map(lambda value: value + 1):
            pass
    return "-", "", 0, 0, 40


KINDS = {
    each.__name__: each
    for each in (
        python_argument,
        new_shapes,
        trials,
        recompiled,
        large_constant,
        small_constant,
        predicted,
        fitted,
        predicted_and_collected,
        own_cycles,
        models_kept,
        tensors_kept,
        tapes_kept,
        iterators_kept,
        generators,
        py_functions,
        new_scalars,
        same_scalars,
        traced_once,
        defined_in_loop,
        healthy,
        mapped_in_loop,
    )
}
if len(sys.argv) < 2:
    print(*KINDS, sep="\n")
else:
    tell(KINDS[sys.argv[1]])
