#!/usr/bin/env python3
"""table.py BUILD [MOST] [--draw FILE]: what each work costs among 100 others, and among MOST (10,000).

It prints the instructions of both, and whether they grow no more than the goal of the work allows; and the times, which
also grow where more memory is touched than caches hold: beside some is what touching as much by hand takes. The exit
status is 0 where all goals hold. --draw draws the curves of all works, with what lies between.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FEW = 100
LACKING = 77  # the exit status where this machine lacks what a work needs
PATIENCE = 300  # seconds to count a work among 1,000 at most; among more, so much for each 1,000


def programs_in(build):
    """Sets the environment for what counts, in a build folder, and returns it: a build may lack the Python package."""
    os.environ["PYTHONPATH"] = f"{build / 'python'}:{build / 'bench'}"
    os.environ["PYTHONHASHSEED"] = "0"
    compiled, python = [build / "bench/unibuf_growth"], [sys.executable, Path(__file__).with_name("works.py")]
    return [compiled, python] if (build / "python").exists() else [compiled]


def run(program, *words):
    """Returns what a run of the program says, or why nothing can be said."""
    patience = PATIENCE * max(1, int(words[-1]) // 1000) if words[-1].isdigit() else PATIENCE
    try:
        done = subprocess.run([*program, *words], capture_output=True, text=True, check=False, timeout=patience)
    except subprocess.TimeoutExpired:
        return None, f"not counted within {patience} s among {words[-1]}"
    if done.returncode == LACKING:
        return None, done.stdout.strip()
    if done.returncode != 0:
        said = done.stdout + done.stderr
        sys.exit(f"{' '.join(map(str, (*program, *words)))} ended with {done.returncode}: {said}")
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


def draw(curves, file):
    """Draws a panel for each kind of work: how many times the instructions among FEW each takes, and its goal."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "unibuf"  # so that the same figures make the same file
    kinds = [each for each in ("flat", "logarithmic", "linear") if any(kind == each for kind, _ in curves)]
    figure, panels = plt.subplots(1, len(kinds), squeeze=False, figsize=(10, 3.6), layout="constrained")
    for kind, axes in zip(kinds, panels[0], strict=True):
        of_kind = [points for each, points in curves if each == kind]
        for points in of_kind:
            alive, counted = zip(*points, strict=True)
            axes.plot(alive, [each / counted[0] for each in counted], "o-", color="#0b6e4f", alpha=0.5, markersize=3)
        longest = [n for n, _ in max(of_kind, key=len)]
        axes.plot(longest, [goal_of(kind, n) for n in longest], "--", color="#b5651d", label="goal")
        axes.set(xscale="log", yscale="log" if kind == "linear" else "linear", title=f"{kind}: {len(of_kind)} works")
        axes.set(
            xlabel="alive", ylabel=f"instructions / those among {FEW}", ylim=(0.5 if kind == "linear" else 0, None)
        )
        axes.legend(frameon=False, loc="upper left")
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(file, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("most", type=int, nargs="?", default=10_000)
    parser.add_argument("--draw", metavar="FILE", type=Path)
    told = parser.parse_args()
    works = {}  # by name: the program, and the kind
    for program in programs_in(told.build.resolve()):
        listed = run(program, "--list")[0].split()
        works |= {work: (program, kind) for work, kind in zip(listed[::2], listed[1::2], strict=True)}

    def points_of(kind):
        last = told.most // 10 if kind == "linear" else told.most  # whose instructions take as much longer to count
        between = [10**power for power in range(3, 10) if FEW < 10**power < last] if told.draw else []
        return [FEW, *between, last]

    with ThreadPoolExecutor(os.cpu_count()) as each:
        counting = {
            work: [each.submit(instructions, program, work, alive) for alive in points_of(kind)]
            for work, (program, kind) in works.items()
        }
        counted = {work: [point.result() for point in points] for work, points in counting.items()}
    missed = 0
    curves = []
    print(
        f"{'instructions':32} {f'among {FEW}':>12} {f'among {told.most}':>14}   growth     goal    time, ns (by hand)"
    )
    for work, (program, kind) in works.items():
        unknown = [each for each in counted[work] if isinstance(each, str)]
        if unknown:
            missed += "within" in unknown[0]
            print(f"{work:32} {unknown[0]}")
            continue
        alive = points_of(kind)
        curves.append((kind, list(zip(alive, counted[work], strict=True))))
        before, after, goal = counted[work][0], counted[work][-1], goal_of(kind, alive[-1])
        holds = after <= goal * before
        missed += not holds
        took = " to ".join(times(program, work, each) for each in (FEW, alive[-1]))
        verdict = f"{after / before:8.2f} {goal:8.1f}  {'' if holds else 'MISSED':6}"
        scope = f", among {alive[-1]}" if alive[-1] != told.most else ""
        print(f"{work:32} {before:12.0f} {after:14.0f} {verdict}  {took}{scope}", flush=True)
    if told.draw:
        draw(curves, told.draw)
    sys.exit(missed != 0)


main()
