#!/usr/bin/env python3
"""mutants.py: changes the sources of a folder in one place at a time, and tells which changes no test finds.

    mutants.py --folder src/coherence --seed 1 --count 150

A mutant is a file, a place and a kind of change; the same seed draws the same ones of the same tree. All mutants of the
folder are compiled at once, into a copy of the tree under build/mutants: a number in the environment chooses one of
them. Each test is run once by itself, to see which places it comes by; a mutant is then run against these tests alone,
until one fails. One that hangs is ended, and counts as found. tests/mutants-equal.txt names those that change nothing
that a test could see.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "mutants"
EQUAL = ROOT / "tests" / "mutants-equal.txt"

sys.path[:0] = [str(HERE), str(ROOT / "build" / "mutants" / "python")]
sys.dont_write_bytecode = True
try:
    from child import Child
    from tree import Build
    from trial import Tests
except ModuleNotFoundError as missing:
    sys.exit(f"mutants.py: {missing.name} is missing: make mutants installs it, by {HERE / 'requirements.txt'}")


def equal_ones():
    """Returns the mutants that need no test, as (file, function, before, after)."""
    result, heading, before, explained = set(), (), None, True
    for number, line in enumerate(EQUAL.read_text().splitlines(), 1):
        if line.startswith("    - "):
            before = line[6:]
        elif line.startswith("    + "):
            result.add((*heading, before, line[6:]))
            explained = False
        elif line.startswith("    "):
            explained = True
        elif line and not line.startswith("#"):
            heading = tuple(line.split(maxsplit=1))
        if not explained and not line or len(heading) == 1:
            sys.exit(f"{EQUAL}:{number}: a heading is a file and a function, and a change has its reason below it")
    return result


def identity(mutant):
    return mutant.file, mutant.function, mutant.before, mutant.after


def drawn(build, arguments):
    """Returns the numbers of the mutants to look at, and of how many they were drawn."""
    equal = equal_ones()
    files = set(build.sources)
    for each in sorted(equal - {identity(mutant) for mutant in build.mutants.values()}):
        if each[0] in files:
            print(f"{EQUAL.name} names a mutant that is none any more: {each[0]} {each[1]}: {each[3]}")
    pool = [number for number, mutant in build.mutants.items() if identity(mutant) not in equal]
    if arguments.at:
        pool = [n for n in pool if f"{build.mutants[n].file}:{build.mutants[n].line}" in arguments.at]
    if arguments.again:
        last = [each for each in results() if each["folder"] == arguments.folder]
        alive = {tuple(each["mutant"]) for run in last[-1:] for each in run["mutants"] if each["found"] == "survived"}
        pool = [number for number in pool if identity(build.mutants[number]) in alive]
    if arguments.at or arguments.again or arguments.count >= len(pool):
        return random.Random(arguments.seed).sample(pool, len(pool)), len(pool)
    return random.Random(arguments.seed).sample(pool, arguments.count), len(pool)


RESULTS = ROOT / "build" / "mutants" / "results.json"


def results():
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def show(mutant, words):
    print(f"{mutant.file}:{mutant.line}: {mutant.function}: {mutant.kind} ({words})")
    print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="src/coherence", help="a folder of the tree, src/coherence")
    parser.add_argument("--seed", type=int, default=1, help="draws the mutants, and random histories of tests")
    parser.add_argument("--count", type=int, default=150, help="how many are drawn")
    parser.add_argument("--budget", type=float, default=float("inf"), metavar="SECONDS", help="then no other is begun")
    parser.add_argument("--at", action="append", metavar="FILE:LINE", help="all mutants of a line, in place of a draw")
    parser.add_argument("--again", action="store_true", help="those that survived the last run, in place of a draw")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", os.cpu_count())))
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.rstrip("/")

    build = Build(arguments.folder, arguments.jobs)
    build.work.mkdir(parents=True, exist_ok=True)
    print(f"{arguments.folder}: compiles all mutants at once", flush=True)
    build.make()
    numbers, of = drawn(build, arguments)
    programs = ", ".join(build.programs)
    print(f"{arguments.folder}: {len(numbers)} of {of} mutants are looked at, by {programs}", flush=True)
    tests = Tests(build, arguments.seed)

    begin = time.monotonic()
    ended = False

    def look_at(number):
        if ended or time.monotonic() - begin > arguments.budget:
            return "not begun", ""
        if build.name(build.mutants[number]) in build.refused:
            return "the compiler", ""
        return tests.find(number)

    outcomes = []
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    try:
        for number, (found, how) in zip(numbers, pool.map(look_at, numbers), strict=True):
            if outcomes and len(outcomes) % 50 == 0:
                print(f"{len(outcomes)} of {len(numbers)} after {time.monotonic() - begin:.0f} s", flush=True)
            outcomes.append({"mutant": identity(build.mutants[number]), "kind": build.mutants[number].kind,
                             "line": build.mutants[number].line, "found": found, "how": how})  # fmt: skip
            if found == "survived":
                show(build.mutants[number], how)
    finally:
        ended = True
        for each in list(Child.living):
            each.end()
        pool.shutdown(cancel_futures=True)
        counts = collections.Counter(each["found"] for each in outcomes)
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True).stdout
        run = {"date": datetime.date.today().isoformat(), "commit": commit.strip(), "folder": arguments.folder,
               "seed": arguments.seed, "seconds": round(time.monotonic() - begin), "mutants": outcomes}  # fmt: skip
        RESULTS.write_text(json.dumps([*results(), run], indent=1) + "\n")
    found = counts["a test"] + counts["time"]
    tried = found + counts["survived"]
    print(f"{arguments.folder}, seed {arguments.seed}: {tried} mutants, {counts['a test']} found by a test, "
          f"{counts['time']} by time, {counts['survived']} survived: {100 * found / max(tried, 1):.1f} % found "
          f"in {run['seconds']} s; not counted: {counts['the compiler']} that the compiler refuses, "
          f"{counts['not begun']} not begun")  # fmt: skip


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("mutants.py: interrupted")
