"""A list that keeps every tensor. Clearing it frees only half of the memory: TensorFlow caches every scalar it has seen."""

import tensorflow as tf

leaky_tensors = []

for step in range(20_000):
    leaky_tensors.append(tf.constant(float(step)))
