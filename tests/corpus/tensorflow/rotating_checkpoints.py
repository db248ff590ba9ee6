# cause: checkpoints-rotate
# class: tensorflow
# report: https://www.tensorflow.org/api_docs/python/tf/train/CheckpointManager
# verdict: clean
# needs: tensorflow
# note: One checkpoint manager saves 2 MB of variables in every iteration and keeps three files.

import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.weights = tf.Variable(tf.zeros([500, 500]))
        self.moments = tf.Variable(tf.zeros([500, 500]))

    def update(self, gradient):
        self.moments.assign(0.9 * self.moments + gradient)
        self.weights.assign_sub(0.1 * self.moments)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "120"))
    model = Model()
    gradient = tf.ones([500, 500])
    with tempfile.TemporaryDirectory() as folder:
        manager = tf.train.CheckpointManager(tf.train.Checkpoint(model=model), folder, max_to_keep=3)
        for number in range(iterations):
            model.update(gradient)
            manager.save(checkpoint_number=number)
    print(float(tf.reduce_sum(model.weights)))
    print(f"truth iterations={iterations}")


main()
