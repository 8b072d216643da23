#!/usr/bin/env python3
"""table.py PEERS.JSON MISSING.TXT ROWS.JSON...: the rows of all peers in one file, and as a table.

A ratio is the peer's time over unibuf's: above 1, unibuf is faster.
"""

import json
import sys
from itertools import groupby

SCALES = {"ns": 1e9, "us": 1e6, "ms": 1e3}


def time_of(seconds, unit):
    return f"{seconds * SCALES[unit]:,.4g} {unit}"


def nbytes(row):
    if "bytes" not in row:
        return "?"
    mapped = f" ({row['mapped_bytes']:,} mapped)" if row["mapped_bytes"] else ""
    return f"{row['bytes']:,}{mapped}"


def line_of(rows):
    """One line for a peer's rows of a work: there is one for each placement of unibuf."""
    first = rows[0]
    if "ratio" not in first:
        return f"  {first['peer']:24} -  {first['note']}"
    columns = [f"  {first['peer']:24}{time_of(first['peer_seconds'], first['unit']):>12}"]
    for row in rows:
        columns.append(f"{row['placement']} {time_of(row['unibuf_seconds'], row['unit'])}, ratio {row['ratio']:,.3g}")
    columns.append(
        f"moved {nbytes(first)}, unibuf mirrored {first['unibuf_bytes']:,}"
        if first["placement"] == "mirrored"
        else f"moved {nbytes(first)}"
    )
    return "; ".join(columns + [first["note"]] if first["note"] else columns)


def main():
    target, missing, *parts = sys.argv[1:]
    rows = [row for part in parts for row in json.load(open(part))]
    absent = [line for line in open(missing).read().splitlines() if line]
    with open(target, "w") as file:
        json.dump({"missing": absent, "rows": rows}, file, indent=4)
    works = list(dict.fromkeys(row["work"] for row in rows))
    for work in works:
        print(work)
        for _, of_peer in groupby((row for row in rows if row["work"] == work), key=lambda row: row["peer"]):
            print(line_of(list(of_peer)))
    for line in absent:
        print(f"Left out: {line}")


if __name__ == "__main__":
    main()
