#!/usr/bin/env python3
"""null.py --json SUMMARY.JSON: what small works take in Python by unibuf, beside the same by hand (CuPy), where no card
and no driver takes any time: processor time and calls of the driver, into unibuf_bench's summary.

The works are those of bench/peers. It runs on the null driver with CuPy (bench/null); `make bench` says how.
"""

import argparse
import gc
import json
import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from rows import add_to, show

PROCESSES = 5  # each has its addresses elsewhere
WALKED = 2 << 20  # bytes, as much as other work would touch
SINGLES = 300  # rounds of work that is done once in a turn


@dataclass
class Work:
    name: str
    title: str
    make: object  # (contender) -> Way
    at_once: int = 1  # how often a turn does it where nothing is walked over
    rounds: int = SINGLES


WORKS = [
    Work("change", "one element of 64 MiB, named", lambda who: who.change_named()),
    Work("rewrite_4k", "4 KiB rewritten", lambda who: who.rewrite(4096 // 4)),
    Work("rewrite_1m", "1 MiB rewritten", lambda who: who.rewrite_middle()),
    Work("row", "a row of 4096 x 4096, read", lambda who: who.row()),
    Work("column", "a column of 4096 x 4096, read", lambda who: who.column()),
    Work("temporary", "a temporary of 1 MiB", lambda who: who.temporary(), 100, 31),
    Work("small_10000", "4 KiB of one of 10,000 buffers", lambda who: who.many_small(), 10_000, 5),
]
CASES = ("hot", "walked over")
COUNTS = {
    "calls": "calls of the driver",
    "waits": "calls that wait, or ask whether work is done",
    "events": "events recorded",
    "bytes": "bytes moved",
}


def time_of(way):
    """Nanoseconds of processor time, of all threads."""
    begin = time.process_time_ns()
    way.run()
    return time.process_time_ns() - begin


def time_of_clock():
    return statistics.median(-time.process_time_ns() + time.process_time_ns() for _ in range(1000))


def in_turns(ways, at_once, rounds, memory):
    """Microseconds that each of `ways` takes, by the median, where `memory` is walked over before each."""
    taken = [[] for _ in ways]
    for _ in range(rounds):
        for way, times in zip(ways, taken, strict=True):
            way.prepare()
            if memory is not None:
                memory.max()
            times.append(time_of(way))
    clock = time_of_clock()
    return [(statistics.median(times) - clock) / at_once / 1e3 for times in taken]


def counts_of(way):
    import null_cupy

    way.prepare()
    null_cupy.reset()
    way.run()
    counts, calls = null_cupy.read()
    return {name: getattr(counts, name) for name in COUNTS} | {"by_name": calls}


def measured(work, both):
    """By hand and by unibuf, in this order: the times of each case, and what is counted of one time."""

    def do_at_once(number):
        for each in both:
            each.temporaries = each.small_at_once = number

    do_at_once(work.at_once)
    ways = [work.make(each) for each in both]
    in_turns(ways, work.at_once, 2, None)  # the first times are others
    found = {"hot": in_turns(ways, work.at_once, work.rounds, None)}
    do_at_once(1)
    found["walked over"] = in_turns(ways, 1, SINGLES, np.zeros(WALKED, np.uint8))
    found["counts"] = [counts_of(way) for way in ways]
    return found


def contenders():
    """By hand, and unibuf."""
    import null_cupy  # noqa: F401  it has to come before CuPy
    from cuda_peers import ByArrays, CuPyDevice
    from python_works import ByUnibuf

    return ByArrays(CuPyDevice()), ByUnibuf(CuPyDevice(), "gpu_preferred")


def play():
    """All works, in this process."""
    both = contenders()
    gc.disable()
    return {work.name: measured(work, both) for work in WORKS}


def played():
    """All works. Of several processes the one with the median ratio counts: what disturbs one side disturbs both."""
    command = [sys.executable, __file__, "--worker"]
    runs = [json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) for _ in range(PROCESSES)]
    found = runs[0]
    for name, of_work in found.items():
        for case in CASES:
            sides = sorted((run[name][case] for run in runs), key=lambda each: ratio_of(*each))
            of_work[case] = sides[PROCESSES // 2]
    return found


def ratio_of(by_hand, ours):
    if ours == 0:
        return math.inf
    return by_hand / ours


def figures(by_hand, ours):
    ratio = ratio_of(by_hand, ours)
    rounded = (float(f"{each:.4g}") for each in (ours, by_hand, ratio))
    result = dict(zip(("measured", "limit", "ratio"), rounded, strict=True))
    return result if math.isfinite(ratio) else result | {"ratio": None}


def row(name, unit, note, cases):
    """A claim of which `cases` are (name, by hand, unibuf); the worst of them is shown."""
    worst, by_hand, ours = min(cases, key=lambda case: ratio_of(*case[1:]))
    return {
        "name": f"python.null.{name}", "unit": unit, **figures(by_hand, ours), "goal": "ratio >= 1",
        "holds": ratio_of(by_hand, ours) >= 1, "note": f"{note}{worst}; limit: by hand (CuPy), ratio: limit / measured",
        "cases": [{"name": case, **figures(*sides)} for case, *sides in cases],
    }  # fmt: skip


def rows_of(found):
    times = [
        row(work.name, "us", f"{work.title}: ", [(case, *found[work.name][case]) for case in CASES]) for work in WORKS
    ]
    counts = [
        row(
            name,
            name,
            f"{what}: ",
            [(work.title, *(side[name] for side in found[work.name]["counts"])) for work in WORKS],
        )
        for name, what in COUNTS.items()
    ]
    return times + counts


def skipped(why):
    """The same claims without figures."""
    return [
        {"name": f"python.null.{name}", "unit": unit, "measured": None, "limit": None, "ratio": None,
         "goal": "ratio >= 1", "holds": None, "note": f"skipped: {why}", "cases": []}
        for name, unit in [*((work.name, "us") for work in WORKS), *((name, name) for name in COUNTS)]
    ]  # fmt: skip


def show_works(found):
    """Both sides of each work."""
    titles = "hot us", "walked us", *COUNTS
    print(f"\n{'':<40}" + "".join(f"{title:>12}" for title in titles))
    for work in WORKS:
        of_work = found[work.name]
        for side, who in enumerate(("by hand", "unibuf")):
            counts = of_work["counts"][side]
            times = "".join(f"{of_work[case][side]:>12.1f}" for case in CASES)
            print(f"{work.title:<31} {who:<8}{times}" + "".join(f"{counts[name]:>12,}" for name in COUNTS))
            print("    " + ", ".join(f"{name} {number}" for name, number in sorted(counts["by_name"].items())))


def main():
    arguments = argparse.ArgumentParser(description="Measures small works in Python without a card.")
    arguments.add_argument("--json", help="Where the summary is, or is to be")
    arguments.add_argument("--worker", action="store_true", help="Only measure once, and print the figures as JSON")
    given = arguments.parse_args()
    if given.worker:
        print(json.dumps(play()))
        return
    try:
        import null_cupy  # noqa: F401
    except ImportError as why:
        rows = skipped(why)
        show(rows)
    else:
        found = played()
        rows = rows_of(found)
        show(rows)
        show_works(found)
    if given.json:
        add_to(given.json, rows, lambda name: name.startswith("python.null."))


if __name__ == "__main__":
    main()
