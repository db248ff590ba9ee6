# cause: defaultdict-read-inserts
# class: plain-python
# report: https://github.com/nltk/nltk/pull/2047
# verdict: leak
# line: 26
# bytes-per-iteration: 18800
# holder: senses
# fix: .get, default_factory
# note: Looking a word up in a defaultdict inserts it with an empty set; texts bring new words without end.

import os
import random
from collections import defaultdict

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
SYLLABLES = ["ba", "ko", "li", "mur", "nes", "pa", "ro", "sti", "tul", "ve", "wan", "zi"]


class Lexicon:
    def __init__(self):
        self.senses = defaultdict(set)
        for number, syllable in enumerate(SYLLABLES):
            self.senses[syllable].add(number)

    def lookup(self, word):
        return self.senses[word]


def words(rng, count):
    for _ in range(count):
        yield "".join(rng.choices(SYLLABLES, k=7))


def annotate(lexicon, rng):
    known = 0
    text = list(words(rng, 60))
    for word in text:
        known += len(lexicon.lookup(word))
    return known


def main():
    rng = random.Random(21)
    lexicon = Lexicon()
    sentence = 0
    while sentence < ITERATIONS:
        annotate(lexicon, rng)
        sentence += 1
    print(f"truth iterations={ITERATIONS}")


main()
