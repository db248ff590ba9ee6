# cause: memory-handler-without-target
# class: plain-python
# report: https://github.com/Tribler/tribler/pull/8530
# verdict: leak
# line: 28
# bytes-per-iteration: 6400
# holder: buffer
# fix: target, flush, capacity
# note: MemoryHandler.flush empties its buffer only when a target is set; without one the records stay after the capacity is passed.

import logging
import logging.handlers
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "14000"))

tail = logging.handlers.MemoryHandler(capacity=400, flushLevel=logging.CRITICAL)
log = logging.getLogger("torrent")
log.setLevel(logging.DEBUG)
log.propagate = False
log.addHandler(tail)


def tick(step, peers):
    for index in range(len(peers)):
        peers[index] = (peers[index] * 1103515245 + 12345) % 2**31
        if index % 6 == 0:
            log.debug("step %d: peer %d asks for piece %d", step, index, peers[index] % 4096)
    return sum(peers) % 1000


def main():
    peers = list(range(60))
    check = 0
    for step in range(ITERATIONS):
        check ^= tick(step, peers)
    print(f"truth iterations={ITERATIONS}")
    return check


main()
