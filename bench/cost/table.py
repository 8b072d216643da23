#!/usr/bin/env python3
"""table.py BUILD TABLE: counts what the hot paths cost, in a build folder, and compares it with the table; or --store.

table.py BUILD --where OPERATION shows which functions its instructions are in. table.py --compare OLD NEW compares two
tables. The exit status is 0 where nothing costs more than the table allows.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

COLUMNS = ("instructions", "locked", "system_calls", "allocations", "driver_calls")
ALLOWED = 0.02  # of the instructions: so much they may grow
LACKING = 77  # the exit status where this machine lacks what an operation needs

TITLE = """\
bench/cost.txt: what the hot paths cost, counted by `make cost` and stored by `make cost STORE=1`. What the columns mean
is in docs/benchmarks.md, "Counted costs".
"""

# What of libc goes by the processor goes by what they all have.
WITHOUT = """
    AVX AVX2 AVX512BW AVX512F AVX512VL AVX_Fast_Unaligned_Load BMI2 ERMS FSRM Fast_Unaligned_Copy RTM SSE4_1 SSE4_2
    SSSE3
"""
ENVIRONMENT = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{each}" for each in WITHOUT.split()),
    "LD_BIND_NOW": "1",
    "OCL_ICD_VENDORS": "/nonexistent",
    "__EGL_VENDOR_LIBRARY_DIRS": "/nonexistent",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",
    "UNIBUF_CUDA_DOUBLE_JITTER": "0",
}


@dataclass
class Table:
    head: dict = field(default_factory=dict)  # what was built, with what
    operations: dict = field(default_factory=dict)  # by name: a number for each of COLUMNS
    bytes: dict = field(default_factory=dict)
    lacking: dict = field(default_factory=dict)  # operations that cannot be counted here, and why

    def text(self):
        width = max(map(len, [*self.operations, *self.bytes]))
        lines = [TITLE]
        lines += [f"{key:<{width}}  {value}" for key, value in self.head.items()]
        lines += ["", "  ".join([f"{'operation':<{width}}", *COLUMNS])]
        for name, row in self.operations.items():
            lines.append("  ".join([f"{name:<{width}}", *(f"{row[each]:>{len(each)}}" for each in COLUMNS)]))
        lines += ["", f"{'what':<{width}}  bytes"]
        lines += [f"{name:<{width}}  {value:>5}" for name, value in self.bytes.items()]
        return "\n".join(lines) + "\n"


def read(text):
    """Reads what Table.text() wrote."""
    try:
        _, head, operations, what = text.strip().split("\n\n")
        found = Table(head=dict(re.split(r"\s+", line, maxsplit=1) for line in head.splitlines()))
        for line in operations.splitlines()[1:]:
            name, *values = line.split()
            found.operations[name] = dict(zip(COLUMNS, map(int, values), strict=True))
        for line in what.splitlines()[1:]:
            name, value = line.split()
            found.bytes[name] = int(value)
    except ValueError as fault:
        sys.exit(f"The table of costs cannot be read ({fault}): take the committed one, or make cost STORE=1")
    return found


@dataclass
class Change:
    row: str
    column: str
    old: int
    new: int

    @property
    def allowed(self):
        return int(self.old * (1 + ALLOWED)) if self.column == "instructions" else self.old

    @property
    def grew(self):
        return self.new > self.allowed

    @property
    def shrank(self):
        return self.new < (self.old * (1 - ALLOWED) if self.column == "instructions" else self.old)

    def text(self):
        return f"  {self.row:24} {self.column:14} {self.old:>8} -> {self.new:>8}, allowed {self.allowed}"


def differences(old, new, keys):
    """Says what of the heads is not the same."""
    values = [(key, old.head.get(key, "none"), new.head.get(key, "none")) for key in keys]
    return "; ".join(f"{key} is {now}, the table's is {before}" for key, before, now in values if before != now)


def changes(old, new, without_instructions, without_python):
    """Returns a change for each number that both tables have."""
    for name in (name for name in old.operations if name in new.operations):
        if without_python and name.startswith("python."):
            continue
        for column in COLUMNS[1 if without_instructions else 0 :]:
            yield Change(name, column, old.operations[name][column], new.operations[name][column])
    for name in (name for name in old.bytes if name in new.bytes):
        yield Change(name, "bytes", old.bytes[name], new.bytes[name])


def compare(old, new):
    """Returns what is to be said, and whether nothing costs more than it may."""
    other_build = differences(old, new, ("machine", "compiler", "build", "glibc"))
    other_python = differences(old, new, ("python", "numpy"))
    found = list(changes(old, new, bool(other_build), bool(other_python)))
    grown = [each.text() for each in found if each.grew]
    shrunk = [each.text() for each in found if each.shrank]
    unknown = {*old.operations, *old.bytes} ^ {*new.operations, *new.bytes, *new.lacking}
    lines = [f"NOT COUNTED: {name}: {reason}" for name, reason in new.lacking.items()]
    if other_build:
        lines.append(f"NOT COMPARED: instructions, as {other_build}")
    if other_python:
        lines.append(f"NOT COMPARED: python.*, as {other_python}")
    if grown:
        lines += ["COSTS MORE than bench/cost.txt allows:", *grown]
        lines.append(
            "Mend the cost: make cost WHERE=OPERATION shows which functions the instructions are in. Or store the"
        )
        lines.append("table in the same commit, by make cost STORE=1, and say in its message what the cost is for.")
    if unknown:
        lines.append(
            f"Not both in bench/cost.txt and counted: {', '.join(sorted(unknown))}. Store them: make cost STORE=1"
        )
    if shrunk:
        lines += ["COSTS LESS. Keep that, by make cost STORE=1 in the same commit:", *shrunk]
    return lines, not grown and not unknown


class Programs:
    """What counts, in a build folder."""

    def __init__(self, build):
        self.folder = build / "bench"
        others = {name: value for name, value in os.environ.items() if not name.startswith("UNIBUF_")}
        self.environment = {**others, **ENVIRONMENT}
        self.environment["LD_LIBRARY_PATH"] = str(build / "tests/doubles")
        self.environment["PYTHONPATH"] = f"{build / 'python'}:{self.folder}"
        # Python's dictionaries go by addresses. Some containers allow no fixed ones; then counts differ by up to 1 %.
        fixed = ["setarch", "--addr-no-randomize"]
        allowed = shutil.which(fixed[0]) and self.run([*fixed, "true"], (0, 1)).returncode == 0
        self.compiled = [*(fixed if allowed else []), self.folder / "unibuf_cost"]
        self.python = [*(fixed if allowed else []), sys.executable, Path(__file__).with_name("operations.py")]

    def run(self, words, statuses=(0,)):
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode not in statuses:
            said = (done.stdout + done.stderr).strip()
            sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}: {said}")
        return done

    def operations(self):
        """Returns what to run for each operation, by name."""
        return {
            name: [*program, name]
            for program in (self.compiled, self.python)
            for name in self.run([*program, "--list"]).stdout.split()
        }

    def counted(self, words):
        """Returns what one operation costs, or why it cannot be counted."""
        done = self.run(words, (0, LACKING))
        if done.returncode == LACKING:
            return done.stdout.strip()
        found = json.loads(done.stdout)
        row = {column: round(statistics.median(found[column])) for column in COLUMNS}
        row["instructions"] -= round(statistics.median(found["nothing"]))
        return row

    def functions(self, operation):
        """Returns how many instructions of an operation are in each function."""
        programs = self.operations()
        if operation not in programs:
            sys.exit(f"No operation is called {operation}. There are: {', '.join(programs)}")
        self.environment["UNIBUF_COST_PLACES"] = "1"
        by_file = defaultdict(list)
        for line in self.run(programs[operation]).stdout.splitlines()[1:]:
            times, words = line.split(" ", 1)
            file, address = words.rsplit(" ", 1)  # a path may have spaces
            by_file[file].append((int(times), address))
        found = Counter()
        for file, places in by_file.items():
            asked = "\n".join(address for _, address in places)
            words = ["addr2line", "-f", "-C", "-e", file]
            said = subprocess.run(words, input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
            for (times, _), function in zip(places, said[::2], strict=True):
                found[f"{function}  {Path(file).name}"] += times
        return found

    def table(self):
        built = json.loads(self.run([self.folder / "unibuf_cost_sizes"]).stdout)
        found = Table(bytes=built.pop("bytes"))
        python = {"python": " ".join(sys.version.split()), "numpy": version("numpy")}
        found.head = {"machine": platform.machine(), **built, **python}
        programs = self.operations()
        with ThreadPoolExecutor(os.cpu_count()) as each:
            for name, row in zip(programs, each.map(self.counted, programs.values()), strict=True):
                (found.lacking if isinstance(row, str) else found.operations)[name] = row
        return found


def count(build, path, store):
    """Compares with the table at `path`, or stores it. Returns the exit status."""
    counted = Programs(build).table()
    if store:
        if counted.lacking:
            sys.exit("Not stored, as this machine cannot count everything: " + "; ".join(counted.lacking.values()))
        path.write_text(counted.text())
        print(f"Stored: {path}")
        return 0
    if not path.exists():
        sys.exit(f"There is no {path}: make cost STORE=1")
    print(counted.text().removeprefix(TITLE))
    return tell(*compare(read(path.read_text()), counted))


def tell(lines, passed):
    print(*lines, f"The costs are {'' if passed else 'NOT '}within those of the table.", sep="\n")
    return 0 if passed else 1


def main():
    arguments = argparse.ArgumentParser(description="Counts what the hot paths cost, and compares it with a table.")
    arguments.add_argument("paths", type=Path, nargs="+", help="the build folder, and the table; or two tables")
    arguments.add_argument("--store", action="store_true", help="write the table")
    arguments.add_argument("--where", metavar="OPERATION", help="show which functions its instructions are in")
    arguments.add_argument("--compare", action="store_true", help="compare two tables")
    told = arguments.parse_args()
    if told.where:
        for function, times in Programs(told.paths[0].resolve()).functions(told.where).most_common():
            print(f"{times:>8} {function}")
        return 0
    if len(told.paths) != 2:
        arguments.error("two paths are needed")
    if told.compare:
        return tell(*compare(*(read(path.read_text()) for path in told.paths)))
    return count(told.paths[0].resolve(), told.paths[1], told.store)


sys.exit(main())
