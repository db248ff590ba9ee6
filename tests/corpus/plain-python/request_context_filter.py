# cause: logging-filters-accumulate
# class: plain-python
# report: https://github.com/wazuh/wazuh/issues/4463
# verdict: leak
# line: 38
# bytes-per-iteration: 8200
# holder: filters
# fix: removeFilter, once, contextvar, one filter
# note: Every handled message adds a filter to the module's logger; the logger's list of filters keeps them, each with the message that it describes.

import json
import logging
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
log = logging.getLogger("cluster")
log.setLevel(logging.WARNING)


class ContextFilter(logging.Filter):
    def __init__(self, tag, headers):
        super().__init__()
        self.tag = tag
        self.headers = headers

    def filter(self, record):
        record.tag = self.tag
        return True


class Handler:
    def __init__(self, number, text):
        self.number = number
        self.message = json.loads(text)
        log.addFilter(ContextFilter(f"node-{number}", self.describe()))

    def describe(self):
        return "\n".join(f"{key}: {value}" for key, value in self.message.items()) * 3

    def answer(self):
        log.debug("answering %d", self.number)
        return sorted(self.message.items())[self.number % 3]


def incoming(count):
    for number in range(count):
        yield number, json.dumps({f"x-header-{n}": f"value {number} {n}" * 2 for n in range(70)})


for number, text in incoming(ITERATIONS):
    Handler(number, text).answer()

print(f"truth iterations={ITERATIONS}")
