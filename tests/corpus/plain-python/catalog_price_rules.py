# cause: cache-on-method
# class: plain-python
# report: https://github.com/python/cpython/issues/122827
# verdict: leak
# line: 23
# bytes-per-iteration: 16500
# holder: applicable, cache
# fix: maxsize, cached_property, instance, staticmethod, weak
# note: functools.cache on a method has self in the key, so every PriceBook that answered once stays alive in the cache of the function, with its table.

import os
import random
from functools import cache

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "3000"))


class PriceBook:
    """The prices of one shop on one day, packed as the supplier sends them."""

    def __init__(self, shop, rng):
        self.shop = shop
        self.packed = rng.randbytes(16384)

    def price(self, article):
        offset = (article * 4) % (len(self.packed) - 4)
        return int.from_bytes(self.packed[offset : offset + 4], "little") % 100_000

    @cache
    def applicable(self, article):
        price = self.price(article)
        rebate = sum(self.price(article + step) for step in range(0, 1600, 4)) % 7
        return price - price * rebate // 100


def main():
    rng = random.Random(7)
    total = 0
    for day in range(ITERATIONS):
        book = PriceBook(day % 12, rng)
        total += sum(book.applicable(article) for article in (11, 17, 23, 31))
    print(f"truth iterations={ITERATIONS}")
    return total


if __name__ == "__main__":
    main()
