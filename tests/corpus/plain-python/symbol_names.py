# cause: interned-strings-released
# class: plain-python
# report: https://docs.python.org/3/library/sys.html#sys.intern
# verdict: clean
# note: Names are interned for fast comparison; interned strings are not immortal, and the table of a file goes with the file.

import os
import sys

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


class SymbolTable:
    def __init__(self, source):
        self.uses = {}
        for line, text in enumerate(source.split("\n")):
            for word in text.split():
                self.uses.setdefault(sys.intern(word), []).append(line)

    def most_used(self):
        return max(self.uses, key=lambda word: len(self.uses[word]))


def source_file(number):
    return "\n".join(f"value_{number}_{n} = step_{n % 50} ( value_{number}_{n * 7 % 400} , {n} )" for n in range(400))


def analyse(number):
    return SymbolTable(source_file(number)).most_used()


def main():
    longest = ""
    for number in range(ITERATIONS):
        longest = max(longest, analyse(number))
    print(f"truth iterations={ITERATIONS}")


main()
