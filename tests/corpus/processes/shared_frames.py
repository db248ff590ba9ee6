# cause: shared-memory-kept
# class: processes
# report: https://docs.python.org/3/library/multiprocessing.shared_memory.html
# verdict: leak
# line: 23
# bytes-per-iteration: 131072
# holder: frames
# fix: unlink, close, reuse
# note: Each frame gets a shared memory block of its own that is neither closed nor unlinked while the camera runs: the pages are in /dev/shm, outside of the heap.

import os
from multiprocessing import shared_memory

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "300"))
SIZE = 131_072


class Camera:
    def __init__(self):
        self.frames = {}

    def capture(self, number):
        block = shared_memory.SharedMemory(create=True, size=SIZE)
        pattern = bytes((number * n) % 256 for n in range(1024))
        block.buf[:] = pattern * (SIZE // 1024)
        self.frames[number] = block
        return block.name

    def brightness(self, number):
        return sum(self.frames[number].buf[::3])

    def stop(self):
        for block in self.frames.values():
            block.close()
            block.unlink()


camera = Camera()
light = 0
for number in range(ITERATIONS):
    camera.capture(number)
    light += camera.brightness(number)

print(f"truth iterations={ITERATIONS}")
camera.stop()
