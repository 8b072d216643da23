#!/usr/bin/env python3
"""test-summary.py TESTS.XML: tells what CTest ran: each skipped test with its reason, each failed one with the last
lines of its output, then the counts on the last line.

A test of CTest that runs many cases is counted by them: GoogleTest and pytest write each into a file of cases/, beside TESTS.XML.
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
    skips = case.get("many") or skipped.get("message", "").startswith("SKIP_")
    return "skipped" if skips else "failed"  # CTest's "Not Run" too


def reason(case):
    if case.get("many"):
        message = case.find("skipped").get("message")
        return " ".join(re.sub(r"^\S+:\d+\n", "", message).split()) or "no reason given"
    found = REASON.search(case.findtext("system-out", ""))
    return " ".join(found.group(found.lastindex).split()) if found else "no reason given"


def last_lines(case):
    """What tells most of a failure: a property that does not hold says at the end how to play it again."""
    failure = case.find("failure")
    text = case.findtext("system-out") or (failure.text if failure is not None else "") or ""
    return [line for line in text.splitlines() if line.strip()][-40:]


def cases_of(test, folder):
    """The cases of a test that came to its end; else the test itself."""
    path = os.path.join(folder, test.get("name") + ".xml")
    if not os.path.exists(path):
        return [test]
    cases = list(xml.parse(path).getroot().iter("testcase"))
    for case in cases:
        case.set("name", f"{test.get('name')}: {case.get('classname')}.{case.get('name')}")
        case.set("many", "yes")
    failed = [case for case in cases if outcome(case) == "failed"]
    if not cases or bool(failed) != (outcome(test) == "failed"):
        return [test]
    return cases + ([test] if failed else [])  # whose output has more than the case: how to play it again


def main(path):
    folder = os.path.join(os.path.dirname(path), "cases")
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
