"""Large temporaries that make TensorFlow's pool grow, and small tensors that are kept: only these are a leak."""
import tensorflow as tf

KEPT = 250_000
TEMPORARY = 2_000_000
PASSES = 40


def temporaries():
    return [tf.ones([TEMPORARY]) for _ in range(10)]


held = []
for _ in range(PASSES):
    temporaries()
    held.append(tf.ones([KEPT]))  # kept

tensors = [tensor for tensor in held if tensor.shape == (KEPT,)]
print("kept", sum(4 * int(tf.size(tensor)) for tensor in tensors), len(tensors))
