"""Runs operations of a library (leaking_operations.cpp) in a loop.

    tf_kernels.py LIBRARY leaking     two that lose memory, and one whose outputs are kept
    tf_kernels.py LIBRARY sound       one that loses none, and one whose outputs are dropped
"""

import sys

import tensorflow as tf

operations = tf.load_op_library(sys.argv[1])
argument = tf.ones([4])
outputs = []
for call in range(200):
    if sys.argv[2] == "leaking":
        operations.loses_buffer(x=argument)
        operations.loses_member(x=argument)
        outputs.append(operations.makes_output(x=argument))  # kept
    else:
        operations.loses_nothing(x=argument)
        operations.makes_output(x=argument)
