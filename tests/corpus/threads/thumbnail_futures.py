# cause: futures-kept
# class: threads
# report: https://github.com/python/cpython/issues/98467
# verdict: leak
# line: 25
# bytes-per-iteration: 14300
# holder: futures
# fix: discard, remove, drop, keep the result
# note: The dictionary of futures is kept for error messages; a future keeps its result after it was read.

import os
import zlib
from concurrent.futures import ThreadPoolExecutor, as_completed

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
BATCH = 50


def thumbnail(name):
    seed = zlib.crc32(name.encode())
    rows = []
    for y in range(24):
        seed = (seed * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        rows.append(seed.to_bytes(4, "little") * 128)
    return b"".join(rows)


class Gallery:
    def __init__(self):
        self.pool = ThreadPoolExecutor(max_workers=3)
        self.futures = {}

    def add(self, names):
        batch = {self.pool.submit(thumbnail, name): name for name in names}
        self.futures.update(batch)
        return sum(len(future.result()) for future in as_completed(batch))

    def failed(self):
        return [name for future, name in self.futures.items() if future.exception()]


gallery = Gallery()
size = 0
for start in range(0, ITERATIONS, BATCH):
    size += gallery.add(f"picture-{n}.png" for n in range(start, min(start + BATCH, ITERATIONS)))
gallery.failed()
print(f"truth iterations={ITERATIONS}")
gallery.pool.shutdown()
