# cause: stream-parser-root
# class: plain-python
# report: https://github.com/python/cpython/issues/102055
# verdict: leak
# line: 24
# bytes-per-iteration: 7600
# holder: parser
# fix: clear, remove
# note: The pull parser builds one tree for the whole stream: each stanza, although handled, stays a child of the root element that the parser holds.

import os
import xml.etree.ElementTree as ElementTree

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "12000"))


class Stream:
    def __init__(self):
        self.parser = ElementTree.XMLPullParser(["end"])
        self.parser.feed("<stream>")
        self.handled = 0

    def receive(self, text):
        self.parser.feed(text)
        for _, element in self.parser.read_events():
            if element.tag == "message":
                self.handle(element)

    def handle(self, element):
        self.handled += len(element.findall("item"))


def stanza(number):
    items = "".join(f'<item id="{number}-{n}"><name>sensor {n}</name></item>' for n in range(14))
    return f'<message to="room{number % 7}">{items}</message>'


stream = Stream()
for number in range(ITERATIONS):
    stream.receive(stanza(number))

print(f"truth iterations={ITERATIONS}")
