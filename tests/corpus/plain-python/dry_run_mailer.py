# cause: mock-records-calls
# class: plain-python
# report: https://github.com/python/cpython/issues/106823
# verdict: leak
# line: 32
# bytes-per-iteration: 9300
# holder: Mock
# fix: reset_mock, stub, replace
# note: A Mock stands for the mail server in dry runs and records each call with its arguments in call_args_list and mock_calls.

import os
from email.message import EmailMessage
from unittest.mock import Mock

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "6000"))
LINES = 150


class Campaign:
    def __init__(self, transport):
        self.transport = transport
        self.sent = 0

    def letter(self, customer):
        message = EmailMessage()
        message["To"] = f"customer{customer}@example.org"
        message["Subject"] = f"Your account {customer}"
        message.set_content(f"Dear customer {customer}")
        return message

    def body(self, customer):
        return "\n".join(f"{customer:08d} item {n:04d} amount {(customer * n) % 9973:6d} EUR, VAT not included" for n in range(LINES))

    def send(self, customer):
        message = self.letter(customer)
        self.transport.send(str(message["To"]), str(message["Subject"]), self.body(customer))
        self.sent += 1


def main(dry_run=True):
    transport = Mock() if dry_run else None
    campaign = Campaign(transport)
    for customer in range(ITERATIONS):
        campaign.send(customer)
    print(f"truth iterations={ITERATIONS}")


main()
