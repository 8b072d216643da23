#!/usr/bin/env python3
"""test-summary.py TESTS.XML: tells what CTest ran: each skipped test with its reason, each failed one with the last
lines of its output, then the counts on the last line.

A test of CTest that is a run of pytest is counted by its cases, which lie in python-tests/ beside TESTS.XML.
"""

import os
import re
import sys
import xml.etree.ElementTree as xml

# GoogleTest's, that of other programs, and that of Fortran programs, which stop.
REASON = re.compile(r": Skipped\n(.*?)\n*\[  SKIPPED \]|^SKIP: (.*?)$|^ERROR STOP (.*?)$", re.DOTALL | re.MULTILINE)


def outcome(case):
    skipped = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    if skipped is None:
        return "passed"
    by_pytest = skipped.get("type") == "pytest.skip"
    return "skipped" if by_pytest or skipped.get("message", "").startswith("SKIP_") else "failed"  # "Not Run" too


def reason(case):
    if case.find("skipped").get("type") == "pytest.skip":
        return case.find("skipped").get("message")
    found = REASON.search(case.findtext("system-out", ""))
    return " ".join(found.group(found.lastindex).split()) if found else "no reason given"


def last_lines(case):
    """What tells most of a failure: a property that does not hold says at the end how to play it again."""
    failure = case.find("failure")
    text = case.findtext("system-out") or (failure.text if failure is not None else "") or ""
    return [line for line in text.splitlines() if line.strip()][-40:]


def cases_of(test, folder):
    """The cases of a run of pytest that came to its end; else the test itself."""
    path = os.path.join(folder, test.get("name") + ".xml")
    if not test.get("name").startswith("python.") or not os.path.exists(path):
        return [test]
    cases = list(xml.parse(path).getroot().iter("testcase"))
    for case in cases:
        case.set("name", f"{test.get('name')}.{case.get('name')}")
    agree = any(outcome(case) == "failed" for case in cases) == (outcome(test) == "failed")
    return cases if cases and agree else [test]


def main(path):
    folder = os.path.join(os.path.dirname(path), "python-tests")
    tests = xml.parse(path).getroot().findall("testcase")
    names = {"passed": [], "failed": [], "skipped": []}
    for case in (case for test in tests for case in cases_of(test, folder)):
        names[outcome(case)].append(case)
    for case in names["skipped"]:
        print(f"SKIP {case.get('name')}: {reason(case)}")
    for case in names["failed"]:
        print(f"FAIL {case.get('name')}", *last_lines(case), sep="\n    ")
    print(", ".join(f"{len(found)} {kind}" for kind, found in names.items()))
    return 1 if names["failed"] or not names["passed"] else 0


sys.exit(main(sys.argv[1]))
