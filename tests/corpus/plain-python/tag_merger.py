# cause: mutable-default-argument
# class: plain-python
# report: https://docs.python.org/3/faq/programming.html#why-are-default-values-shared-between-objects
# verdict: leak
# line: 17
# bytes-per-iteration: 10200
# holder: merge
# fix: default, None
# note: The list of the default argument is made once, with the function, and every call without the second argument extends it.

import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "9000"))


def normalise(tag):
    return tag.strip().lower().replace(" ", "-")


def merge(tags, known=[]):
    fresh = [normalise(tag) for tag in tags]
    known.extend(fresh)
    return sorted(set(known[-200:]))


def tags_of(article):
    return [f" Subject {article} Part {n} Of The Long Running Series " for n in range(100)]


longest = 0
for article in range(ITERATIONS):
    merged = merge(tags_of(article))
    longest = max(longest, max(len(tag) for tag in merged))

print(f"truth iterations={ITERATIONS}")
