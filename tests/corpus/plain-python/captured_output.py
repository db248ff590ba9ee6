# cause: stringio-log-capture
# class: plain-python
# report: https://github.com/hatchet-dev/hatchet/pull/4432
# verdict: leak
# line: 26
# bytes-per-iteration: 8800
# holder: StringIO
# fix: truncate, clear, seek
# note: StreamHandler.flush does nothing to a StringIO: the text of all messages stays in its one buffer, although it was forwarded already.

import io
import logging
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4000"))


class Forwarder(logging.StreamHandler):
    """Writes to its stream and counts what it hands on."""

    def __init__(self, stream):
        super().__init__(stream)
        self.forwarded = 0

    def emit(self, record):
        super().emit(record)
        self.forwarded += len(record.getMessage())


def worker(log, task):
    table = [(task * n) % 977 for n in range(300)]
    table.sort()
    for chunk in range(0, 300, 30):
        log.info("task %06d chunk %03d: %s", task, chunk, " ".join(f"{v:03d}" for v in table[chunk : chunk + 30]) * 7)
    return table[0]


def main():
    log = logging.getLogger("worker")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(Forwarder(io.StringIO()))
    for task in range(1, ITERATIONS + 1):
        worker(log, task)
    print(f"truth iterations={ITERATIONS}")


main()
