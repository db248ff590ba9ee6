"""The json module at its work: a document as a service would answer with, written and read again.

Argument: rounds. The cost is the CPU time of one round, which is one dumps and one loads of
180 KB, and a look whether it is the same document still.
"""

import json
import sys

from measure import tell_one_of

PEOPLE, ORDERS = 120, 4


def order(number):
    return {
        "id": f"order-{number:06d}",
        "placed": f"2024-{number % 12 + 1:02d}-{number % 28 + 1:02d}T08:{number % 60:02d}:00Z",
        "paid": number % 7 != 0,
        "coupon": None if number % 3 else "WELCOME",
        "total": number % 997 * 1.25,
        "lines": [
            {"sku": number * 31 % 5000 + line, "count": line + 1, "price": line * 2.5 + 0.99, "tags": ["new", "sale"]}
            for line in range(3)
        ],
    }


def person(number):
    return {
        "id": number,
        "name": f"Zoë Müller {number}",
        "email": f"zoe.{number}@example.org",
        "address": {"street": f"Long Street {number % 90}", "city": "Kraków", "geo": [50.06 + number / 1e4, 19.94]},
        "about": "likes \"quotes\", tabs\tand lines\n" * 2,
        "orders": [order(number * ORDERS + index) for index in range(ORDERS)],
    }


def main():
    document = {"version": 3, "next": None, "people": [person(number) for number in range(PEOPLE)]}

    def round_of_work():
        if json.loads(json.dumps(document)) != document:
            raise SystemExit("the document has changed")

    tell_one_of(int(sys.argv[1]), round_of_work, warm_up=10)


main()
