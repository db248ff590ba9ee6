"""Calls operations of a library so many times each: the library, the count, then their names."""

import sys

import tensorflow as tf

library, count, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
operations = [getattr(tf.load_op_library(library), name) for name in names]
argument = tf.ones([4])
for _ in range(count):
    for operation in operations:
        operation(x=argument)
