# cause: summary-writers-not-closed
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/8265
# verdict: leak
# line: 30, 26
# bytes-per-iteration: 102000
# holder: writers
# fix: close, one, with
# needs: tensorflow
# note: Each run opens a summary writer with a queue that is not full yet and keeps it open; a queue has 20 tensors of 1,000 floats.

import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


class Runs:
    def __init__(self, folder):
        self.folder = folder
        self.writers = {}

    def log(self, run, values):
        writer = tf.summary.create_file_writer(os.path.join(self.folder, run), max_queue=1000, flush_millis=600000)
        self.writers[run] = writer
        writer.set_as_default(step=0)
        for number in range(20):
            tf.summary.write(f"values/{number}", values)


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    values = tf.random.stateless_normal([1000], seed=[9, 10])
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(folder)
        for number in range(iterations):
            runs.log(f"run-{number}", values)
    print(len(runs.writers), "runs")
    print(f"truth iterations={iterations}")


main()
