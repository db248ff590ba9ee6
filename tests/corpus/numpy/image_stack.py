# cause: in-place-buffers
# class: numpy
# report: https://numpy.org/doc/stable/reference/ufuncs.html
# verdict: clean
# needs: numpy
# note: The filters write into buffers given by out=; temporary arrays of the mask and the histogram go with each frame.

import os

import numpy as np


class Pipeline:
    def __init__(self, height, width):
        self.smooth = np.empty((height, width), dtype=np.float32)
        self.scratch = np.empty_like(self.smooth)

    def run(self, frame):
        np.multiply(frame, 0.5, out=self.smooth)
        np.add(self.smooth, np.roll(frame, 1, axis=0), out=self.smooth)
        np.sqrt(np.abs(self.smooth, out=self.scratch), out=self.scratch)
        bright = frame[self.scratch > 0.9]
        counts, _ = np.histogram(bright, bins=32)
        return int(counts.argmax())


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "250"))
    generator = np.random.default_rng(12)
    frames = [generator.random((480, 640), dtype=np.float32) for _ in range(3)]
    pipeline = Pipeline(480, 640)
    total = 0
    for number in range(iterations):
        total += pipeline.run(frames[number % 3])
    print(total)
    print(f"truth iterations={iterations}")


main()
