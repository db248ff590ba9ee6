"""So many iterations of a loop as the first argument says. Each makes blocks on stacks of many depths, keeps some of them for a
while, and with a second argument names its moment, too."""

import sys

import _heaplens  # built in under Heaplens

DEPTHS = 64
kept = [None] * 4096


def work(number, depth):
    if depth:
        work(number, depth - 1)
    else:
        kept[number * 7 % len(kept)] = bytearray(600 + number % 1000)


passes = int(sys.argv[1])
is_marked = len(sys.argv) > 2
for number in range(passes):
    work(number, number % DEPTHS)
    if is_marked:
        _heaplens.mark(b"pass %d" % number)
print("passes", passes)
