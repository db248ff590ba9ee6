# cause: enum-pseudo-members
# class: plain-python
# report: https://github.com/chrysn/aiocoap/issues/263
# verdict: leak
# line: 31
# bytes-per-iteration: 7800
# holder: _value2member_map_
# fix: mask, plain int, weak
# note: IntFlag makes a member for each unknown value and keeps it in _value2member_map_; the values come from the peer.

import enum
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))


class Option(enum.IntFlag):
    CRITICAL = 1
    UNSAFE = 2
    NO_CACHE = 4
    OBSERVE = 8


class Message:
    def __init__(self, raw):
        self.raw = raw

    def options(self):
        for offset in range(0, len(self.raw), 4):
            number = int.from_bytes(self.raw[offset : offset + 4], "big")
            yield Option(number)


def raw_message(number):
    return b"".join((number * 512 + n * 16 + 16).to_bytes(4, "big") for n in range(24))


def handle(number):
    critical = 0
    for option in Message(raw_message(number)).options():
        if option & Option.CRITICAL == Option.CRITICAL:
            critical += 1
    return critical


def main():
    total = sum(handle(number) for number in range(ITERATIONS))
    print(f"truth iterations={ITERATIONS}")
    return total


main()
