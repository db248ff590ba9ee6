"""A program in nothing but Python that allocates as such programs do: it reads made-up orders out of text, prices them by
rules that are closures, books them into accounts, and prints statements. Objects, lists, dicts, strings and closures come
and go, and there is work between.

Argument: rounds. The cost is the CPU time of one round.
"""

import sys
from collections import deque

from measure import tell_one_of

ORDERS, CUSTOMERS, GOODS, LINES = 1200, 150, 300, 4
ROUNDS_KEPT = 4


class Numbers:
    """The same numbers on every machine and in every run."""

    def __init__(self, seed):
        self.state = seed * 2 + 1

    def below(self, limit):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % limit


class Line:
    def __init__(self, good, count):
        self.good = good
        self.count = count


class Order:
    def __init__(self, number, customer, lines):
        self.number = number
        self.customer = customer
        self.lines = lines
        self.notes = {}

    def pieces(self):
        return sum(line.count for line in self.lines)


class Account:
    def __init__(self, name):
        self.name = name
        self.bookings = []
        self.by_good = {}

    def book(self, order, amount):
        self.bookings.append((order.number, amount))
        for line in order.lines:
            self.by_good[line.good] = self.by_good.get(line.good, 0) + line.count

    def favourites(self):
        return sorted(self.by_good, key=lambda good: (-self.by_good[good], good))[:3]

    def statement(self):
        total = sum(amount for _, amount in self.bookings)
        rows = [f"  {number:>6} {amount / 100:10.2f}" for number, amount in self.bookings]
        return "\n".join([f"{self.name}: {total / 100:.2f}", *rows, ", ".join(self.favourites())])


def written(numbers, number):
    """One order as it comes in: a line of text."""
    lines = (f"good-{numbers.below(GOODS)}x{1 + numbers.below(9)}" for _ in range(1 + numbers.below(LINES)))
    return f"{number};customer {numbers.below(CUSTOMERS)};" + " ".join(lines)


def read(text):
    number, customer, rest = text.split(";")
    lines = []
    for part in rest.split():
        good, count = part.rsplit("x", 1)
        lines.append(Line(good.title(), int(count)))
    return Order(int(number), customer.capitalize(), lines)


def price_of(good):
    """A price from a name, by work: what a lookup in a tariff would be."""
    price = 7
    for letter in good:
        price = (price * 31 + ord(letter)) % 9973
    return 100 + price % 900


def rebate(least, percent):
    def rule(order, amount):
        return amount - amount * percent // 100 if order.pieces() >= least else amount

    return rule


def postage(fee, free_from):
    def rule(order, amount):
        order.notes["postage"] = 0 if amount >= free_from else fee
        return amount + order.notes["postage"]

    return rule


def priced(order, rules):
    amount = sum(line.count * price_of(line.good) for line in order.lines)
    for rule in rules:
        amount = rule(order, amount)
    return amount


def round_of_work(numbers):
    rules = [rebate(10, 2), rebate(20, 3 + numbers.below(3)), postage(490, 5000)]
    accounts = {}
    for text in [written(numbers, number) for number in range(ORDERS)]:
        order = read(text)
        account = accounts.get(order.customer) or accounts.setdefault(order.customer, Account(order.customer))
        account.book(order, priced(order, rules))
    return accounts, [accounts[name].statement() for name in sorted(accounts)]


def main():
    numbers, kept = Numbers(42), deque(maxlen=ROUNDS_KEPT)
    tell_one_of(int(sys.argv[1]), lambda: kept.append(round_of_work(numbers)), warm_up=10)


main()
