#!/usr/bin/env python3
"""table.py PROGRAM [MOST]: what each work costs among 100 others, and among MOST (10,000).

It prints the instructions of both, and whether they grow no more than the goal of the work allows; and the times, which
also grow where more memory is touched than caches hold: beside some is what touching as much by hand takes. The exit
status is 0 where all goals hold.
"""

import json
import math
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

FEW = 100
LACKING = 77  # the exit status where this machine lacks what a work needs
PATIENCE = 300  # seconds: what takes longer to count grows without a bound that is worth a figure


def run(program, *words):
    """Returns what a run of the program says, or why nothing can be said."""
    try:
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, f"not counted within {PATIENCE} s among {words[-1]}"
    if done.returncode == LACKING:
        return None, done.stdout.strip()
    if done.returncode != 0:
        sys.exit(f"{' '.join((program, *words))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout, None


def instructions(program, work, alive):
    """Returns how many instructions the work takes among so many others, or why that cannot be counted."""
    said, why_not = run(program, work, str(alive))
    return why_not or statistics.median(json.loads(said.splitlines()[0])["instructions"])


def times(program, work, alive):
    """Returns the nanoseconds of the work as text, and in brackets those by hand where there are any."""
    said, _ = run(program, "--time", work, str(alive))
    first, *by_hand = said.split() if said else ["?"]
    return f"{first} ({by_hand[0]})" if by_hand else first


def goal_of(kind, many):
    """Returns how many times the instructions among `many` may be those among FEW."""
    if kind == "flat":
        return 1.1
    logarithmic = 1.1 * math.log(many) / math.log(FEW)
    return logarithmic if kind == "logarithmic" else logarithmic * many / FEW


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 10_000
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    works = {}
    for work, kind in zip(listed[::2], listed[1::2], strict=True):
        many = most // 10 if kind == "linear" else most  # whose instructions take as much longer to count
        works[work] = (many, goal_of(kind, many))
    with ThreadPoolExecutor(os.cpu_count()) as each:
        few = each.map(lambda work: instructions(program, work, FEW), works)
        many = each.map(lambda work: instructions(program, work, works[work][0]), works)
        few, many = list(few), list(many)
    missed = 0
    print(f"{'instructions':32} {f'among {FEW}':>12} {f'among {most}':>14}   growth     goal    time, ns (by hand)")
    for (work, (alive, goal)), before, after in zip(works.items(), few, many, strict=True):
        unknown = [each for each in (before, after) if isinstance(each, str)]
        if unknown:
            missed += "within" in unknown[0]
            print(f"{work:32} {unknown[0]}")
            continue
        holds = after <= goal * before
        missed += not holds
        took = " to ".join(times(program, work, each) for each in (FEW, alive))
        verdict = f"{after / before:8.2f} {goal:8.1f}  {'' if holds else 'MISSED':6}"
        scope = f", among {alive}" if alive != most else ""
        print(f"{work:32} {before:12.0f} {after:14.0f} {verdict}  {took}{scope}", flush=True)
    sys.exit(missed != 0)


main()
