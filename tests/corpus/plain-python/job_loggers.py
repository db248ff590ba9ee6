# cause: logger-per-name
# class: plain-python
# report: https://github.com/DIRACGrid/DIRAC/issues/5280
# verdict: leak
# line: 22
# bytes-per-iteration: 5800
# holder: loggerDict
# fix: LoggerAdapter, one logger, extra
# note: logging.getLogger keeps every logger it ever made in Manager.loggerDict; a name made from the job's number makes new ones for ever.

import logging
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "4500"))
STAGES = ("fetch", "parse", "check", "split", "join", "store", "index", "notify")

logging.basicConfig(level=logging.ERROR)
root = logging.getLogger("jobs")


def stage(number, name, rows):
    log = root.getChild(f"job-{number:08d}-of-customer-{number % 31}.{name}")
    log.debug("%d rows", len(rows))
    checked = [row for row in rows if row % 3]
    log.debug("%d rows left", len(checked))
    return checked


def job(number):
    rows = list(range(number % 50, number % 50 + 1500))
    for name in STAGES:
        rows = stage(number, name, rows)
    return len(rows)


def main():
    done = 0
    number = 0
    while number < ITERATIONS:
        done += job(number)
        number += 1
    print(f"truth iterations={ITERATIONS}")


main()
