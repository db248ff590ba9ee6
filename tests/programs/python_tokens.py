"""Keeps what it makes under keys that nobody else may know, in every kind of dict that Python has, and prints the part that all of
them share. With the word `waits` it then waits for a line.

No key stands in this text: they are composed when the program runs.
"""

import sys

SHARED = "".join(map(chr, (113, 52, 122, 55, 119, 57, 107)))


def token(number, kind):
    return "%s%s%024d" % (SHARED, kind, number)


class Sessions:
    pass


sessions, interned, encoded, pairs, nested = {}, {}, {}, {}, {"rows": {}}
holder, names = Sessions(), {}
exec("", names)
for number in range(400):
    sessions[token(number, "a")] = bytearray(9_000)
    interned[sys.intern(token(number, "b"))] = bytearray(9_100)
    encoded[token(number, "c").encode()] = bytearray(9_200)
    pairs[token(number, "d"), number] = bytearray(9_300)
    nested["rows"][token(number, "e")] = bytearray(9_400)
    setattr(holder, token(number, "f"), bytearray(9_500))
    names[token(number, "g")] = bytearray(9_600)
    sessions[token(number, "h")] = {"open": bytearray(9_700)}

print(SHARED, flush=True)
if "waits" in sys.argv:
    import os

    print(os.getpid(), flush=True)
    sys.stdin.readline()
