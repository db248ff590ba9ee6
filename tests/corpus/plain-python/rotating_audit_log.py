# cause: rotating-log
# class: plain-python
# report: https://docs.python.org/3/library/logging.handlers.html#logging.handlers.RotatingFileHandler
# verdict: clean
# note: Files rotate on disk; a record is freed as soon as it is written.

import logging
import logging.handlers
import os
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))


def make_log(folder):
    handler = logging.handlers.RotatingFileHandler(os.path.join(folder, "audit.log"), maxBytes=200_000, backupCount=3)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("audit")
    log.setLevel(logging.INFO)
    log.propagate = False
    log.addHandler(handler)
    return log, handler


def transfer(log, accounts, number):
    for step in range(12):
        source = (number * 7 + step) % len(accounts)
        target = (number * 11 + step * 3) % len(accounts)
        amount = (number + step) % 50
        accounts[source] -= amount
        accounts[target] += amount
        log.info("transfer %d from %d to %d: %s", amount, source, target, "approved" * 4)


with tempfile.TemporaryDirectory() as folder:
    log, handler = make_log(folder)
    accounts = [1000] * 64
    for number in range(ITERATIONS):
        transfer(log, accounts, number)
    log.removeHandler(handler)
    handler.close()

print(f"truth iterations={ITERATIONS}")
