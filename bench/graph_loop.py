"""A thousand iterations, each of which adds operations to a graph and runs them: a large recording of TensorFlow."""
import tensorflow as tf
v1 = tf.compat.v1
v1.disable_eager_execution()
with v1.Session() as s:
    for i in range(1000):
        s.run(tf.add(tf.constant(float(i)), 1.0))
