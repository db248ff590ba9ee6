# cause: statement-cache-fills
# class: plain-python
# report: https://docs.python.org/3/library/sqlite3.html#sqlite3.connect
# verdict: plateau
# note: Every query text is new; the connection keeps 128 prepared statements and the page cache of SQLite has a bound.

import os
import sqlite3
import tempfile

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "5000"))


class Store:
    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("create table sale (id integer primary key, shop integer, amount real)")
        with self.connection:
            self.connection.executemany(
                "insert into sale (shop, amount) values (?, ?)", ((n % 23, n * 1.5) for n in range(3000))
            )

    def total(self, columns, shop):
        listed = ", ".join(f"sum(amount * {factor})" for factor in columns)
        return self.connection.execute(f"select {listed} from sale where shop = {shop}").fetchone()

    def close(self):
        self.connection.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        store = Store(os.path.join(folder, "sales.db"))
        for number in range(ITERATIONS):
            store.total([number, number + 1, number + 2], number % 23)
        store.close()
    print(f"truth iterations={ITERATIONS}")


if __name__ == "__main__":
    main()
