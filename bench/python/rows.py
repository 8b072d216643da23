"""rows.py: rows of claims, for people and for unibuf_bench's summary."""

import json


def show(rows):
    """Prints them; those that miss their goal stand last."""
    for each in sorted(rows, key=lambda each: each["holds"] is False):
        measured, limit, ratio = ("-" if each[key] is None else each[key] for key in ("measured", "limit", "ratio"))
        holds = {True: "holds", False: "MISSED", None: "-"}[each["holds"]]
        print(f"{each['name']:<24} {measured:>10} {limit:>10}  {each['unit']:<9} {ratio:>8}  "
              f"{each['goal']:<16} {holds:<6}  {each['note']}")  # fmt: skip


def add_to(path, rows, replaced):
    """Puts them into the summary, in the place of those whose name `replaced` says to go."""
    try:
        with open(path) as file:
            others = [each for each in json.load(file) if not replaced(each["name"])]
    except FileNotFoundError:
        others = []
    with open(path, "w") as file:
        json.dump(sorted(others + rows, key=lambda each: each["name"]), file, indent=4)
