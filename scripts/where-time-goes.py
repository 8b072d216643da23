#!/usr/bin/env python3
"""where-time-goes.py FOLDER [--store DOCUMENT]: what .ci/run took, part by part, and each label of tests beside its budget.

FOLDER is the build folder: times.txt of scripts/timed.sh, the logs of Ninja, and what CTest said of its tests. The budgets are the
table of docs/test-plan.md, in seconds of a machine whose MACHINE is as below; a slower one has more. Ends with 1 where a label takes
more than its budget. --store puts the tables between the two marks of DOCUMENT.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ProcessPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINE = 0.50  # seconds of `work` on each of two cores of the machine that the budgets were measured on
TREES = ("release", "asan", "tsan")
LINKED = re.compile(r"\.(so|a)[.\d]*$|^[^.]*$")


def work(_):
    begin, total = time.perf_counter(), 0
    for i in range(6_000_000):
        total += i & 7
    return time.perf_counter() - begin


def slower():
    """How much slower this machine is than the one of the budgets, with both cores busy; at least 1."""
    with ProcessPoolExecutor(2) as both:
        times = sorted(min(both.map(work, range(2))) for _ in range(5))
    return max(1.0, times[2] / MACHINE)


def parts_of(folder):
    """(name, seconds, processor seconds) of each part that was timed."""
    path = os.path.join(folder, "times.txt")
    if not os.path.exists(path):
        sys.exit(f"where-time-goes.py: {path} is not there: .ci/run, or scripts/timed.sh, writes it")
    parts = []
    with open(path) as file:
        for line in file:
            name, real, user, system = line.rstrip("\n").split("\t")
            parts.append((name, float(real), float(user) + float(system)))
    return parts


def built(folder):
    """Seconds of compiling and of linking in a tree, as its jobs took them, beside each other."""
    steps = {}
    path = os.path.join(folder, ".ninja_log")
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                if not line.startswith("#"):
                    begin, end, _, output, command = line.rstrip("\n").split("\t")
                    steps[(begin, end, command)] = ((int(end) - int(begin)) / 1000, output)
    compiled = sum(took for took, output in steps.values() if output.endswith(".o"))
    linked = sum(took for took, output in steps.values() if LINKED.search(os.path.basename(output)))
    rest = sum(took for took, _ in steps.values()) - compiled - linked
    return compiled, linked, rest


def labels_of(folder):
    """Seconds and number of the tests of each label, as CTest ran them."""
    path = os.path.join(folder, "tests.xml")
    if not os.path.exists(path):
        return {}
    shown = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    labels = {}
    for test in json.loads(shown.stdout)["tests"]:
        for each in test.get("properties", []):
            if each["name"] == "LABELS":
                labels[test["name"]] = each["value"][0]
    found = {}
    for test in xml.parse(path).getroot().findall("testcase"):
        label = labels.get(test.get("name"), "other")
        took, count = found.get(label, (0.0, 0))
        found[label] = (took + float(test.get("time") or 0), count + 1)
    return found


def budgets():
    """{label: seconds} of the plan."""
    with open(os.path.join(ROOT, "docs", "test-plan.md")) as file:
        rows = re.findall(r"^\| `([\w ]+)` \| (\d+) \|", file.read(), re.MULTILINE)
    return {label: int(seconds) for label, seconds in rows}


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(str(each) for each in row) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--store", metavar="DOCUMENT")
    given = parser.parse_args()

    parts = parts_of(given.folder)
    lines = list(table(("part", "seconds", "processor seconds"), ((n, round(r), round(c)) for n, r, c in parts)))
    lines.append(f"| all | {sum(r for _, r, _ in parts):.0f} | {sum(c for _, _, c in parts):.0f} |")
    lines.append("")
    trees = [(tree, *built(os.path.join(given.folder, tree))) for tree in TREES]
    lines += table(("tree", "compiling", "linking", "other steps"), ((t, *map(round, took)) for t, *took in trees))
    lines.append("")

    factor, allowed, rows, over = slower(), budgets(), [], []
    for tree in TREES:
        for label, (took, count) in sorted(labels_of(os.path.join(given.folder, tree)).items()):
            name = label if tree == "release" else f"{tree} {label}"
            budget = allowed.get(name)
            rows.append((f"`{name}`", count, round(took), budget if budget else "none"))
            if budget is None:
                over.append(f"{name} has no budget: docs/test-plan.md has one for each label")
            elif took > budget * factor:
                over.append(f"{name} took {took:.0f} s, its budget is {budget} s" + (f", here {budget * factor:.0f}" if factor > 1 else ""))
    lines += table(("label", "tests", "seconds", "budget"), rows)
    print("\n".join(lines))
    print(f"\nThis machine takes {factor:.2f} times as long as that of the budgets.")

    if given.store:
        with open(given.store) as file:
            text = file.read()
        mark = "<!-- times: {} -->"
        first, last = mark.format("begin"), mark.format("end")
        begin, end = text.index(first) + len(first), text.index(last)
        with open(given.store, "w") as file:
            file.write(text[:begin] + "\n" + "\n".join(lines) + "\n" + text[end:])
    for each in over:
        print(f"FAIL {each}", file=sys.stderr)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
