# cause: arrow-pool-keeps-pages
# class: numpy
# report: https://github.com/apache/arrow/issues/36100
# verdict: plateau
# needs: pyarrow
# note: Tables are built from Python rows and dropped; Arrow's memory pool keeps the pages of the first tables and uses them again.

import os

import pyarrow as pa


def rows(number):
    return [{"id": number + row, "name": f"row {row % 97}", "value": row * 0.5} for row in range(2000)]


def load(number):
    table = pa.Table.from_pylist(rows(number))
    ordered = table.sort_by([("value", "descending")])
    return ordered["id"][0].as_py()


def main():
    iterations = int(os.environ.get("CORPUS_ITERATIONS", "400"))
    total = 0
    for number in range(iterations):
        total += load(number)
    print(total)
    print(f"truth iterations={iterations}")


main()
