"""A list that keeps every tensor. When it is cleared, half of the memory stays: TensorFlow keeps each scalar that it has ever seen."""

import tensorflow as tf

leaky_tensors = []

for step in range(20_000):
    leaky_tensors.append(tf.constant(float(step)))
