"""Keeps what operations give that run on threads of TensorFlow's own, and says which line made those operations.

    truth LINE BLOCKS BYTES
    keeps LINE

Of a name that operations of two lines have nothing can be said: there is no truth for them but that no line has the memory.
"""

import inspect
import sys
import threading

import numpy as np
import tensorflow as tf

KEPT = 40
SIDE = 512
kept = []


def line_of(word):
    """The line of this file that has a comment with this word at its end."""
    source = inspect.getsource(sys.modules[__name__]).splitlines()
    return 1 + next(at for at, line in enumerate(source) if line.endswith("# " + word))


def truth(word, count=KEPT):
    print("truth", line_of(word), count, count * 4 * SIDE * SIDE, flush=True)


@tf.function(autograph=False)
def plain(x):
    return tf.linalg.matmul(x, x)  # plain


@tf.function
def rewritten(x, times):
    if tf.reduce_sum(x) < 0.0:
        x = x + 1.0
    for _ in range(times):
        x = tf.linalg.matmul(x, x)  # rewritten
    return x


@tf.function(autograph=False)
def other(x):
    return tf.nn.softsign(x)  # other


def by_function(function, *arguments):
    x = tf.ones([SIDE, SIDE])
    for _ in range(KEPT):
        kept.append(function(x, *arguments))  # keeps


def by_session():
    with tf.Graph().as_default():
        x = tf.compat.v1.placeholder(tf.float32, [SIDE, SIDE])
        y = tf.nn.softplus(x)  # session
        z = tf.nn.softsign(y)
        with tf.compat.v1.Session() as session:
            for _ in range(KEPT):
                kept.append(session.run([y, z], {x: np.ones([SIDE, SIDE], np.float32)})[0])


def by_pipeline():
    numbers = tf.data.Dataset.range(KEPT)
    grown = numbers.map(
        lambda number: tf.fill([SIDE, SIDE], tf.cast(number, tf.float32)),  # pipeline
        num_parallel_calls=4,
    )
    for element in grown:
        kept.append(element)


def at_once():
    threads = [threading.Thread(target=by_function, args=[function]) for function in (plain, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    truth("other")


@tf.function(autograph=False)
def twin(x):
    return tf.linalg.matmul(x, x)


kind = sys.argv[1]
if kind == "plain":
    by_function(plain)
elif kind == "rewritten":
    by_function(rewritten, 2)
elif kind == "session":
    by_session()
elif kind == "pipeline":
    by_pipeline()
elif kind == "concurrent":
    at_once()
elif kind == "shared":
    twin(tf.ones([2, 2]))
    by_function(plain)
if kind == "plain":
    print("keeps", line_of("keeps"), flush=True)
if kind != "shared":
    truth("plain" if kind == "concurrent" else kind)
