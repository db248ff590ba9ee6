"""A program that does everything in callbacks of asyncio: no loop of its own covers it. Arguments: what it does (keep, replace, or serve first and
count afterwards) and for how many seconds. Says

    line LINE
"""

import asyncio
import collections
import sys
import time

SIZE = 20_000
PAUSE = 0.01


class Server:
    def __init__(self, kept, until):
        self.kept = kept
        self.until = until
        self.line = 0

    def serve(self, loop):
        self.line = sys._getframe().f_lineno + 1
        self.kept.append(bytearray(SIZE))
        if time.monotonic() < self.until:
            loop.call_later(PAUSE, self.serve, loop)
        else:
            loop.stop()


def main(what, seconds):
    kept = [] if what == "keep" else collections.deque(maxlen=100)
    server = Server(kept, time.monotonic() + seconds)
    loop = asyncio.new_event_loop()
    loop.call_soon(server.serve, loop)
    loop.run_forever()
    loop.close()
    if what == "count":
        print("sizes", [len(bytearray(SIZE + number)) for number in range(6)])
    print("line", server.line)
    return server


SERVER = main(sys.argv[1], float(sys.argv[2]))
