"""Programs that make graphs and sessions of TensorFlow in a loop, each in a few seconds.

    tf_graphs.py          prints the kinds
    tf_graphs.py KIND     runs one, and says what is true about it:

        truth rule line events bytes iterations sessions-made sessions-closed

with the line that makes what costs most and 0 where nothing grows, events (operations or open sessions) and bytes for each
iteration, these as far as they are known and else 0.
"""
import inspect
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
SIZE = 250_000


def tell(function):
    rule, text, events, size, iterations, made, closed = function()
    lines, first = inspect.getsourcelines(function)
    line = next((number for number, line in enumerate(lines, first) if text and text in line), 0)
    if rule == "C1":
        operations = len(tf.get_default_graph().get_operations())
        assert 0 <= operations - events * iterations < iterations, operations
    print("truth", rule, line, events, size, iterations, made, closed, flush=True)


def session_in_with():
    for step in range(24):
        with tf.Session() as session:
            left = tf.constant(numpy.arange(SIZE, dtype="float32"))  # costs most
            right = left + 1.0
            session.run(right.op)
    return "C1", "# costs most", 3, 4 * SIZE, 24, 24, 24


def session_closed():
    for step in range(24):
        session = tf.Session()
        left = tf.constant(numpy.arange(SIZE, dtype="float32"))  # costs most
        right = tf.constant(2.0)
        session.run((left * right).op)
        session.close()
    return "C1", "# costs most", 3, 4 * SIZE, 24, 24, 24


def results_in_list():
    results = []
    with tf.Session() as session:
        start = tf.constant(1.0)
        for step in range(60):
            bumped = tf.add(start, float(step))  # costs most
            results.append(session.run(bumped))
    return "C1", "# costs most", 2, 0, 60, 1, 1


def squared_loss():
    weights = tf.get_variable("weights", [64, 1])
    data = tf.placeholder(tf.float32, [None, 64])
    loss = tf.reduce_mean(tf.matmul(data, weights))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    feed = {data: numpy.ones((8, 64), "float32")}
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(60):
            session.run(train, feed)
            squared = tf.square(loss)  # costs most
            session.run(squared, feed)
    return "C1", "# costs most", 1, 0, 60, 1, 1


def hidden_product():
    loss = tf.placeholder(tf.float32, [])
    with tf.Session() as session:
        for step in range(60):
            session.run(loss, {loss: step})
            doubled = loss * 2.0  # costs most
    return "C1", "# costs most", 2, 0, 60, 1, 1


def build_and_run():
    def compute():
        a = tf.constant(5)  # costs most
        b = tf.constant(6)
        c = a * b
        with tf.Session() as session:
            return session.run(c)

    for step in range(60):
        compute()
    return "C1", "# costs most", 3, 0, 60, 60, 60


def saver():
    tf.get_variable("weights", [8])
    for step in range(24):
        tf.train.Saver()  # costs most
    return "C1", "# costs most", len(operations_of_saver()), 0, 24, 0, 0


def operations_of_saver():
    with tf.Graph().as_default() as graph:
        tf.get_variable("weights", [8])
        before = len(graph.get_operations())
        tf.train.Saver()
        return graph.get_operations()[before:]


def open_sessions():
    kept = []
    one = tf.constant(1.0)
    for step in range(24):
        session = tf.Session()  # costs most
        session.run(one)
        kept.append(session)
    return "C2", "# costs most", 1, 0, 24, 24, 0


def built_once():
    """Clean: what a well-behaved program does."""
    value = tf.placeholder(tf.float32, [4])
    doubled = value * 2.0
    with tf.Session() as session:
        for step in range(60):
            session.run(doubled, {value: [step] * 4})
    return "-", "", 0, 0, 60, 1, 1


def graph_for_each():
    """Clean: each graph goes with its iteration."""
    import gc

    for step in range(30):
        with tf.Graph().as_default():
            left = tf.constant(1.0, shape=[1000])
            with tf.Session() as session:
                session.run((left + 1.0).op)
        del left, session
        gc.collect()
    return "-", "", 0, 0, 30, 30, 30


KINDS = {
    each.__name__: each
    for each in (
        session_in_with,
        session_closed,
        results_in_list,
        squared_loss,
        hidden_product,
        build_and_run,
        saver,
        open_sessions,
        built_once,
        graph_for_each,
    )
}
if len(sys.argv) < 2:
    print(*KINDS, sep="\n")
else:
    tell(KINDS[sys.argv[1]])
