# cause: lazy-imports
# class: plain-python
# report: https://docs.python.org/3/reference/import.html#the-module-cache
# verdict: plateau
# note: Exporters import what they need on first use: modules, tables and caches of the first iterations stay, then nothing more comes.

import importlib
import io
import os

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "8000"))
ROWS = [{"id": n, "name": f"row {n}", "share": n / 7} for n in range(60)]


def as_json():
    return importlib.import_module("json").dumps(ROWS)


def as_csv():
    out = io.StringIO()
    writer = importlib.import_module("csv").DictWriter(out, ["id", "name", "share"])
    writer.writerows(ROWS)
    return out.getvalue()


def as_xml():
    etree = importlib.import_module("xml.etree.ElementTree")
    root = etree.Element("rows")
    for row in ROWS:
        etree.SubElement(root, "row", {key: str(value) for key, value in row.items()})
    return etree.tostring(root, "unicode")


def as_plist():
    return importlib.import_module("plistlib").dumps(ROWS).decode()


EXPORTERS = [as_json, as_csv, as_xml, as_plist]


def main():
    size = 0
    for number in range(ITERATIONS):
        size += len(EXPORTERS[number // 50 % 4]())
    print(f"truth iterations={ITERATIONS}")


main()
