#!/usr/bin/env python3
"""Writes the tables of docs/performance.md from the CSV files in this folder.

    benches/report.py [--check]

Each table stands between `<!-- table NAME -->` and `<!-- end -->`; what is around it is written by hand. With --check nothing is written,
and the exit status says whether all tables are up to date.
"""

import csv
import math
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs/performance.md"


def read(name):
    with open(HERE / f"{name}.csv", newline="") as file:
        return list(csv.DictReader(file))


def mean(ratios):
    ratios = list(ratios)
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def number(value):
    return f"{value:.0f}" if value >= 10 else f"{value:.2f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def ratios(name, chosen):
    return [float(row["ratio"]) for row in read(name) if chosen(row)]


def statistics(what, values):
    return [what, str(len(values)), number(mean(values)), number(min(values))]


STATISTICS = ["", "rows", "mean", "lowest"]

GROUPS = {
    "FastCodecs": "LZ4 and BloscLZ",
    "BitshuffleLz4": "bitshuffle with LZ4",
    "Zlib": "zlib",
    "Lz4hc": "LZ4HC",
    "Zstd": "Zstd",
    "Zeros": "zeros",
    "GetItem": "single items",
    "Small": "buffers of 256 bytes to 64 KB",
}


def compare():
    groups = [
        statistics(name, ratios("compare", lambda row: row["group"] == group))
        for group, name in GROUPS.items()
    ]
    ways = [
        statistics(f"all, {threads} thread{'s'[: threads != '1']}", ratios("compare", lambda row: row["threads"] == threads))
        for threads in "12"
    ]
    return table(STATISTICS, groups + ways)


STORAGES = ["chunks in memory", "frame in memory", "file", "directory"]
READS = ["read all in one slice", "scan chunk by chunk", "200 slices", "2,000 sparse items", "open and read one chunk"]


def schunk():
    def cell(chosen):
        return [
            number(mean(found)) if (found := ratios("schunk", lambda row: row["storage"] == storage and chosen(row))) else ""
            for storage in STORAGES
        ]

    rows = [
        [f"{int(chunks):,} appends", *cell(lambda row: row["operation"] == "append" and row["chunks"] == chunks)]
        for chunks in ("2000", "20000")
    ]
    rows.append(["slices written", *cell(lambda row: row["operation"].startswith("write"))])
    for threads, name in ("1", "one thread"), ("2", "two threads"):
        rows.append([f"read, {name}", *cell(lambda row: row["operation"] in READS and row["threads"] == threads)])
    return table(["", *STORAGES], rows)


ARRAYS = {
    "points and rows written, one byte new": ("write point", "write row"),
    "points and rows written, all new": ("write point of new values", "write row of new values"),
    "planes and cubes written, one byte new": ("write plane", "write cube"),
    "planes and cubes written, all new": ("write plane of new values", "write cube of new values"),
    "read, whole or in part": None,
    "built from a buffer": ("build from buffer",),
}


def arrays():
    def cell(works, place):
        chosen = lambda row: row["place"] == place and (row["work"] in works if works else row["work"].startswith("read"))
        found = ratios("b2nd", chosen)
        return number(mean(found)) if found else ""

    places = {"memory": "in memory", "file": "in a file"}
    return table(["", *places.values()], [[name, *(cell(works, place) for place in places)] for name, works in ARRAYS.items()])


def plugins():
    names = list(dict.fromkeys(row["group"] for row in read("plugins")))
    return table(STATISTICS, [statistics(name, ratios("plugins", lambda row: row["group"] == name)) for name in names])


def threads():
    rows = {}
    for row in read("threads"):
        speed = [float(row[f"mb_s_{n}"]) for n in "12"]
        text = f"{speed[0]:,.0f}, {speed[1]:,.0f}: {speed[1] / speed[0]:.2f}"
        rows.setdefault((row["chunksize"], row["work"]), {})[row["library"]] = text
    return table(
        ["chunks of", "", "this library", "the reference"],
        [[*key, cells["ours"], cells.get("reference", "")] for key, cells in rows.items()],
    )


def checksums():
    rows = {}
    for row in read("checksums"):
        rows.setdefault(row["work"], []).append(f"{row['mean']}, {row['lowest']}")
    return table(["", "frame in memory", "file"], [[work, *cells] for work, cells in rows.items()])


def tool():
    rows = {}
    for row in read("tool"):
        rows.setdefault(row["program"], {})[row["data"]] = [row["ratio"], row["compress_mb_s"], row["decompress_mb_s"]]
    head = ["", "numbers: ratio", "compress", "decompress", "text: ratio", "compress", "decompress"]
    none = ["", "", ""]
    return table(head, [[f"`{name}`", *cells.get("numbers", none), *cells.get("text", none)] for name, cells in rows.items()])


TABLES = [compare, schunk, arrays, plugins, threads, checksums, tool]


def main():
    tables = {make.__name__: make for make in TABLES}
    text = PAGE.read_text()
    before, *parts = text.split("<!-- table ")
    new = before
    for part in parts:
        name, rest = part.split(" -->", 1)
        _, after = rest.split("<!-- end -->", 1)
        new += f"<!-- table {name} -->\n\n{tables.pop(name)()}\n<!-- end -->{after}"
    assert not tables, f"{PAGE} has no {list(tables)}"
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(new)
    elif new != text:
        sys.exit(f"{PAGE} does not have the figures of benches/*.csv: benches/report.py writes it")


if __name__ == "__main__":
    main()
