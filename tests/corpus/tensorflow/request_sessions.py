# cause: sessions-left-open
# class: tensorflow
# report: https://github.com/tensorflow/tensorflow/issues/13202
# verdict: leak
# line: 35, 34
# bytes-per-iteration: 1200000
# holder: sessions
# fix: close, with, one
# needs: tensorflow
# note: Every tenant gets a session that is kept and never closed; each holds its variables (1 MiB) and executors.

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()


class Service:
    def __init__(self):
        self.graph = tf.Graph()
        self.sessions = {}
        with self.graph.as_default():
            self.inputs = tf.placeholder(tf.float32, [None, 512])
            self.weights = tf.get_variable("weights", [512, 512], initializer=tf.ones_initializer(), use_resource=True)
            self.outputs = tf.reduce_sum(tf.matmul(self.inputs, self.weights))
            self.start = tf.global_variables_initializer()

    def session_for(self, tenant):
        if tenant not in self.sessions:
            session = tf.Session(graph=self.graph)
            session.run(self.start)
            self.sessions[tenant] = session
        return self.sessions[tenant]

    def answer(self, tenant, batch):
        return float(self.session_for(tenant).run(self.outputs, {self.inputs: batch}))


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "80"))
    service = Service()
    batch = np.ones((4, 512), dtype=np.float32)
    total = 0.0
    for number in range(iterations):
        total += service.answer(f"tenant-{number}", batch)
    print(total)
    print(f"truth iterations={iterations}")


main()
