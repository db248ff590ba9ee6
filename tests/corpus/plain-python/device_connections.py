# cause: atexit-bound-method
# class: plain-python
# report: https://github.com/ARM-software/devlib/issues/676
# verdict: leak
# line: 22
# bytes-per-iteration: 20600
# holder: atexit
# fix: unregister, weakref, WeakMethod
# note: atexit keeps the bound method close, and with it the connection and its receive buffer, also after it was closed.

import atexit
import os
import random

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3500"))


class Connection:
    def __init__(self, host):
        self.host = host
        self.open = True
        self.window = bytearray(20480)
        self.filled = 0
        atexit.register(self.close)

    def receive(self, data):
        self.window[self.filled : self.filled + len(data)] = data
        self.filled += len(data)

    def checksum(self):
        low = 1
        for value in self.window[: self.filled]:
            low = (low + value) % 65521
        return low

    def close(self):
        self.open = False


def survey(hosts, rng):
    for host in hosts:
        connection = Connection(host)
        for _ in range(4):
            connection.receive(rng.randbytes(1500))
        yield host, connection.checksum()
        connection.close()


rng = random.Random(5)
seen = {}
for host, check in survey((f"10.0.{n // 256}.{n % 256}" for n in range(ITERATIONS)), rng):
    seen[check % 64] = host

print(f"truth iterations={ITERATIONS}")
