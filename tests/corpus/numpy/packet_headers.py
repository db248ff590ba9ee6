# cause: frombuffer-keeps-message
# class: numpy
# report: https://numpy.org/doc/stable/reference/generated/numpy.frombuffer.html
# verdict: leak
# line: 24
# bytes-per-iteration: 65700
# holder: headers
# fix: copy, array
# needs: numpy
# note: An array from frombuffer shares the memory of the bytes object; eight values keep a message of 64 KiB.

import os

import numpy as np


class Collector:
    def __init__(self):
        self.headers = []
        self.body = np.random.default_rng(4).integers(0, 255, 65504, dtype=np.uint8).tobytes()

    def receive(self, number):
        prefix = np.array([number, 7, 65504, 1], dtype=np.int64)
        return b"".join([prefix.tobytes(), self.body])

    def handle(self, number):
        message = self.receive(number)
        header = np.frombuffer(message, dtype=np.int64, count=4)
        body = np.frombuffer(message, dtype=np.uint8, offset=32)
        self.headers.append(header)
        return int(np.bincount(body, minlength=256).argmax()) + int(header[0])


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "3000"))
    collector = Collector()
    total = 0
    for number in range(iterations):
        total += collector.handle(number)
    print(len(collector.headers), total)
    print(f"truth iterations={iterations}")


main()
