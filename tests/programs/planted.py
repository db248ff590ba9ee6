"""One operation of TensorFlow, then a library loses blocks under the names of functions of TensorFlow and Python: the library."""

import ctypes
import sys

import tensorflow as tf

print("sum", float(tf.reduce_sum(tf.ones([1000]))))
ctypes.CDLL(sys.argv[1]).plant()
