"""What TensorFlow costs: its import, and one training step eagerly, as a tf.function, by Session.run and by Keras's fit.

Arguments: import, eager, function, session or keras; then the number of steps. Prints the line that measure.h describes: the CPU
time of the whole process for the import, that of one step for the others.
"""

import sys

from measure import cpu_ns, tell_measured, tell_one_of

STEPS_TO_WARM_UP = 30
BATCH, INPUTS, HIDDEN = 32, 64, 64


def variables(tf):
    def matrix(rows, columns):
        return tf.random.stateless_normal([rows, columns], seed=[rows, columns]) * 0.1

    return [tf.Variable(matrix(INPUTS, HIDDEN)), tf.Variable(matrix(HIDDEN, 1))]


def batch(tf):
    inputs = tf.random.stateless_normal([BATCH, INPUTS], seed=[1, 2])
    return inputs, tf.reduce_sum(inputs, axis=1, keepdims=True)


def train(tf, weights, inputs, wanted):
    """A network of two layers, its loss, its gradients, and one step down."""
    with tf.GradientTape() as tape:
        found = tf.matmul(tf.nn.relu(tf.matmul(inputs, weights[0])), weights[1])
        loss = tf.reduce_mean(tf.square(found - wanted))
    for weight, slope in zip(weights, tape.gradient(loss, weights)):
        weight.assign_sub(0.01 * slope)
    return loss


def eager_step(tf):
    weights, (inputs, wanted) = variables(tf), batch(tf)
    return lambda: train(tf, weights, inputs, wanted)


def function_step(tf):
    weights, (inputs, wanted) = variables(tf), batch(tf)
    step = tf.function(lambda inputs, wanted: train(tf, weights, inputs, wanted))
    return lambda: step(inputs, wanted)


def session_step(tf):
    import numpy

    v1 = tf.compat.v1
    v1.disable_eager_execution()
    inputs = v1.placeholder(tf.float32, [BATCH, INPUTS])
    layers = [v1.get_variable("first", [INPUTS, HIDDEN]), v1.get_variable("second", [HIDDEN, 1])]
    found = tf.matmul(tf.nn.relu(tf.matmul(inputs, layers[0])), layers[1])
    loss = tf.reduce_mean(tf.square(found - tf.reduce_sum(inputs, axis=1, keepdims=True)))
    train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss)
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    values = [[(row * column) % 7 / 7 for column in range(INPUTS)] for row in range(BATCH)]
    feed = {inputs: numpy.array(values, dtype="float32")}
    return lambda: session.run([train_op, loss], feed)


def keras_step(tf):
    """One epoch of ten batches."""
    inputs, wanted = batch(tf)
    inputs, wanted = tf.tile(inputs, [10, 1]), tf.tile(wanted, [10, 1])
    layers = [tf.keras.layers.Dense(HIDDEN, activation="relu"), tf.keras.layers.Dense(1)]
    model = tf.keras.Sequential(layers)
    model.compile(optimizer="sgd", loss="mse")
    return lambda: model.fit(inputs, wanted, batch_size=BATCH, epochs=1, verbose=0)


STEPS = {"eager": eager_step, "function": function_step, "session": session_step, "keras": keras_step}


def main():
    what, count = sys.argv[1], int(sys.argv[2])
    import tensorflow as tf

    if what == "import":
        tell_measured(cpu_ns())
    else:
        tell_one_of(count, STEPS[what](tf), STEPS_TO_WARM_UP)


main()
