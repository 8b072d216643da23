#!/usr/bin/env python3
"""table.py PROGRAM [MOST]: counts what each work costs among 100 others, and among MOST (10,000).

It prints the instructions of both, and whether they grow no more than the goal of the work allows. The exit status is 0
where all hold.
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


def instructions(program, work, alive):
    """Returns how many instructions the work takes among so many others, or why that cannot be counted."""
    try:
        done = subprocess.run(
            [program, work, str(alive)], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"not counted within {PATIENCE} s among {alive}"
    if done.returncode == LACKING:
        return done.stdout.strip()
    if done.returncode != 0:
        sys.exit(f"{program} {work} {alive} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return statistics.median(json.loads(done.stdout.splitlines()[0])["instructions"])


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    program, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 10_000
    listed = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    goals = {"flat": 1.1, "logarithmic": 1.1 * math.log(most) / math.log(FEW), "linear": 1.1 * most / FEW}
    works = {work: goals[kind] for work, kind in zip(listed[::2], listed[1::2], strict=True)}
    with ThreadPoolExecutor(os.cpu_count()) as each:
        few = each.map(lambda work: instructions(program, work, FEW), works)
        many = each.map(lambda work: instructions(program, work, most), works)
    missed = 0
    print(f"{'instructions':32} {f'among {FEW}':>12} {f'among {most}':>14}   growth     goal")
    for (work, goal), before, after in zip(works.items(), few, many, strict=True):
        unknown = [each for each in (before, after) if isinstance(each, str)]
        if unknown:
            missed += "within" in unknown[0]
            print(f"{work:32} {unknown[0]}")
            continue
        holds = after <= goal * before
        missed += not holds
        print(f"{work:32} {before:12.0f} {after:14.0f} {after / before:8.2f} {goal:8.1f}  {'' if holds else 'MISSED'}")
    sys.exit(missed != 0)


main()
