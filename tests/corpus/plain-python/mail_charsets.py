# cause: codec-lookup-cache
# class: plain-python
# report: https://github.com/python/cpython/issues/146054
# verdict: leak
# line: 25
# bytes-per-iteration: 3100
# holder: encodings
# fix: validate, known, whitelist
# note: encodings.search_function notes every name that it could not find in its _cache; the names come from the headers of foreign mails.

import codecs
import hashlib
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))


class Header:
    def __init__(self, charset, raw):
        self.charset = charset
        self.raw = raw

    def text(self):
        try:
            return codecs.decode(self.raw, self.charset)
        except LookupError:
            return self.raw.decode("latin-1")


def headers(number):
    seed = hashlib.sha256(str(number).encode()).hexdigest()
    for field in range(4):
        broken = "x" + seed[field : field + 40] * 18
        yield Header(broken if field else "utf-8", f"Subject {number}: hello".encode())
    yield Header("b" + seed * 11, b"From: nobody")


def main():
    letters = 0
    for number in range(ITERATIONS):
        letters += sum(len(header.text()) for header in headers(number))
    print(f"truth iterations={ITERATIONS}")


main()
