#!/usr/bin/env python3
"""test-summary.py TESTS.XML: tells what CTest ran: each skipped test with its reason, then the counts on the last line."""

import re
import sys
import xml.etree.ElementTree as xml

REASON = re.compile(r": Skipped\n(.*?)\n*\[  SKIPPED \]", re.DOTALL)


def outcome(case):
    skipped = case.find("skipped")
    if case.find("failure") is not None or skipped is not None and not skipped.get("message", "").startswith("SKIP_"):
        return "failed"  # "Not Run" too: the program is not there
    return "passed" if skipped is None else "skipped"


def reason(case):
    found = REASON.search(case.findtext("system-out", ""))
    return " ".join(found.group(1).split()) if found else "no reason given"


def main(path):
    cases = xml.parse(path).getroot().findall("testcase")
    names = {"passed": [], "failed": [], "skipped": []}
    for case in cases:
        names[outcome(case)].append(case)
    for case in names["skipped"]:
        print(f"SKIP {case.get('name')}: {reason(case)}")
    for case in names["failed"]:
        print(f"FAIL {case.get('name')}")
    print(", ".join(f"{len(found)} {kind}" for kind, found in names.items()))
    return 1 if names["failed"] or not names["passed"] else 0


sys.exit(main(sys.argv[1]))
