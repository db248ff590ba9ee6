"""Programs of TensorFlow that are publicly reported, some as leaks that they are not; each in a few seconds.

    tf_cases.py          prints the kinds
    tf_cases.py KIND     runs one, and says what is true about it:

        iterations N
        finding RULE LINE EVENTS BYTES HOLDER

with a line for each finding that is due, the one that costs most first; events and bytes for each iteration as far as they
are known and else 0, the variable that holds it as far as there is one and else `-`.
"""
import inspect
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import tensorflow as tf

leaky_tensors = []


def tell(function):
    iterations, findings = function()
    lines, first = inspect.getsourcelines(function)
    print("iterations", iterations)
    for rule, text, events, size, holder in findings:
        line = next(number for number, line in enumerate(lines, first) if text in line)
        print("finding", rule, line, events, size, holder, flush=True)


def scalars_in_list():
    """The numbers themselves, 32 bytes each, are keys of the cache."""
    for number in range(20_000):
        leaky_tensors.append(tf.constant(number))  # here
    kept = ("G1", "# here", 0, 0, "leaky_tensors")
    return 20_000, [("C35", "# here", 0, 0, "-"), kept, ("G1", "for number", 0, 0, "-")]


def array_to_tensor():
    """Clean: the pool keeps what one iteration needs, and the next has it again."""

    def convert():
        large = numpy.random.rand(2000, 2000)
        tensor = tf.convert_to_tensor(large)
        return tf.reduce_sum(tensor * tensor)

    for call in range(25):
        convert()
    return 25, []


def chain_in_list():
    graph = tf.compat.v1
    graph.disable_eager_execution()
    results = []
    with graph.Session() as session:
        last = tf.constant([1.0])
        for step in range(60):
            last = tf.add(last, tf.constant([1.0]))  # here
            results.append(session.run(last))
    return 60, [("C1", "# here", 2, 0, "-")]


def session_for_each():
    graph = tf.compat.v1
    graph.disable_eager_execution()
    for step in range(40):
        with graph.Session() as session:
            numbers = tf.constant(list(range(10_000)))  # here
            squares = tf.square(numbers)
            session.run(squares)
    return 40, [("C1", "# here", 2, 0, "-")]


class Trainer:
    def __init__(self):
        self.history = []

    def note(self, loss):
        self.history.append(loss)


def tensors_of_object():
    global trainer
    trainer = Trainer()
    start = tf.ones([17_500])

    def train(step):
        return start * tf.fill([17_500], 2.0)  # here

    for step in range(100):
        trainer.note(train(step))
    return 100, [("C8", "# here", 0, 70_000, "history")]


def generators_over_data():
    def pipeline(epoch):
        data = numpy.full(1_000_000, epoch, "float32")

        def rows():
            for start in range(4):
                yield data[start : start + 8]

        return tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec([8]))  # here

    for epoch in range(24):
        for row in pipeline(epoch):
            pass
    return 24, [("C12", "# here", 3, 4_000_000, "-")]


def py_functions_over_data():
    def pipeline(epoch):
        data = numpy.full(1_000_000, epoch, "float32")

        def look(at):
            return data[at]

        numbers = tf.data.Dataset.range(4)
        return numbers.map(lambda at: tf.py_function(look, [at], tf.float32))  # here

    for epoch in range(24):
        for value in pipeline(epoch):
            pass
    return 24, [("C12", "# here", 1, 4_000_000, "-")]


def trials_without_clear():
    import keras

    data, answers = numpy.ones((4, 4), "float32"), numpy.ones((4, 1), "float32")
    for trial in range(22):
        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        model.fit(data, answers, verbose=0)  # here
    return 22, [("C4", "# here", 2, 0, "-")]


def healthy():
    """Clean: what is made in an iteration goes with it, and a pipeline's buffer is filled once."""
    fill = lambda at: tf.fill([1000], at)
    cached = tf.data.Dataset.range(1000).map(fill).cache()
    shuffled = iter(tf.data.Dataset.range(10_000).map(fill).shuffle(200).repeat())
    for step in range(80):
        numbers = tf.constant(list(range(10_000)))
        squares = tf.square(numbers)
        values = squares.numpy()
        del numbers, squares
        with tf.GradientTape() as tape:
            variable = tf.Variable(tf.random.normal([100, 100]))
            loss = tf.reduce_sum(variable)
        gradients = tape.gradient(loss, variable)
        for value in cached.take(5):
            pass
        next(shuffled)
    return 80, []


def predict_for_each():
    """Clean: the collector comes to what a call leaves."""
    import keras

    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    data = numpy.ones((4, 4), "float32")
    for step in range(100):
        model.predict(data, verbose=0)
    return 100, []


KINDS = {
    each.__name__: each
    for each in (
        scalars_in_list,
        array_to_tensor,
        chain_in_list,
        session_for_each,
        tensors_of_object,
        generators_over_data,
        py_functions_over_data,
        trials_without_clear,
        healthy,
        predict_for_each,
    )
}
if len(sys.argv) < 2:
    print(*KINDS, sep="\n")
else:
    tell(KINDS[sys.argv[1]])
