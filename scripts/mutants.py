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
import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "scripts" / "mutants"
EQUAL = ROOT / "tests" / "mutants-equal.txt"
MOST_MEMORY = 6 << 30  # of a test program: a mutant may ask for any amount
QUICK = 0.15  # seconds: tests that take longer are run when all quick ones have passed

# The programs whose tests see a folder's work; others see it, too, but cost more than they find.
PROGRAMS = {
    "src/coherence": ["unit_tests", "fault_tests", "contract_debug"],
    "src/memory": ["unit_tests", "fault_tests", "contract_debug", "contract_host"],
}
USUAL_PROGRAMS = ["unit_tests", "fault_tests", "contract_debug", "contract_host"]

sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
try:
    import places
    import rewrite
except ModuleNotFoundError as missing:
    sys.exit(f"mutants.py: {missing.name} is missing: make mutants installs it, by {HERE / 'requirements.txt'}")


def write_changed(path, content):
    """Writes a file only where it changes, so that nothing is compiled for nothing."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def files_of_tree():
    listed = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")
    return sorted(each for each in names if each and (ROOT / each).is_file())


def equal_ones():
    """Returns the mutants that need no test, as (file, function, before, after)."""
    result, file, function, before = set(), None, None, None
    for number, line in enumerate(EQUAL.read_text().splitlines(), 1):
        if line.startswith("    - "):
            before = line[6:].strip()
        elif line.startswith("    + ") or line == "    +":
            result.add((file, function, before, line[6:].strip()))
        elif line and not line.startswith((" ", "#")):
            file, _, function = line.partition(" ")
            if not function:
                sys.exit(f"{EQUAL}:{number}: a heading is a file and a function")
    return result


def identity(mutant):
    return mutant.file, mutant.function, mutant.before, mutant.after


class Child:
    """A program of its own group, which ends with all that it has started."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, **options)

    def wait(self, seconds=None):
        """Returns the exit status; None where the time was up."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Build:
    """A copy of the tree in which each source of the folder has all its mutants."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.work = ROOT / "build" / "mutants" / folder.replace("/", "-")
        self.tree = self.work / "tree"
        self.programs = PROGRAMS.get(folder, USUAL_PROGRAMS)
        self.refused_file = self.work / "refused.json"  # by the compiler
        self.refused = set(json.loads(self.refused_file.read_text())) if self.refused_file.exists() else set()

    def name(self, mutant):
        return f"{mutant.key} {mutant.before} {mutant.after}"

    def copy(self):
        names = files_of_tree()
        self.sources = [each for each in names if each.startswith(self.folder + "/") and each.endswith((".cpp", ".hpp"))]
        self.sources = [each for each in self.sources if not each.endswith("_macos.cpp")]
        if not self.sources:
            sys.exit(f"mutants.py: no source is in {self.folder}: name a folder of src")
        for each in names:
            if each not in self.sources:
                target = self.tree / each
                write_changed(target, (ROOT / each).read_bytes())
                shutil.copymode(ROOT / each, target)
        kept = set(names) | {"src/unibuf_mutants.hpp"}
        for path in [each for part in ("src", "include", "tests", "bindings") for each in (self.tree / part).rglob("*")]:
            if path.is_file() and str(path.relative_to(self.tree)) not in kept:
                path.unlink()
        write_changed(self.tree / "src" / "unibuf_mutants.hpp", (HERE / "chosen.hpp").read_bytes())
        every = [mutant for file in self.sources for mutant in places.find(str(ROOT), file)]
        self.mutants = dict(enumerate(every, 1))

    def write_sources(self):
        for file in self.sources:
            here = {n: each for n, each in self.mutants.items() if each.file == file and self.name(each) not in self.refused}
            write_changed(self.tree / file, rewrite.rewritten((ROOT / file).read_text(), here).encode())

    def command(self, *words):
        path = self.work / "build.log"
        environment = os.environ | {"CCACHE_BASEDIR": str(self.tree), "CCACHE_NOHASHDIR": "1"}
        with open(path, "w") as log:
            child = Child(words, stdout=log, stderr=subprocess.STDOUT, cwd=self.tree, env=environment)
            return child.wait() == 0, path.read_text(errors="replace")

    def make(self):
        """Compiles, without the mutants that the compiler refuses."""
        self.copy()
        self.write_sources()
        done, said = self.command("cmake", "--preset", "mutants")
        while done:
            done, said = self.command(
                "cmake", "--build", "--preset", "mutants", "-j", str(self.jobs), "--target", *self.programs, "--", "-k", "0"
            )
            if done:
                return
            numbers = self.blamed(said)
            if not numbers:
                break
            self.refused |= {self.name(self.mutants[number]) for number in numbers}
            self.refused_file.write_text(json.dumps(sorted(self.refused)))
            self.write_sources()
            done = True
        sys.exit("mutants.py: the copy of the tree cannot be built:\n" + "\n".join(said.splitlines()[-40:]))

    def blamed(self, said):
        """Returns the mutants on the lines that errors of the compiler name."""
        lines, result, context = {}, set(), []
        for found in re.finditer(r"^(?:In file included )?(?:from )?(\S+?):(\d+):\d+:(.*)$", said, re.MULTILINE):
            path, line, words = pathlib.Path(found[1]), int(found[2]), found[3]
            path = path if path.is_absolute() else self.tree / "build" / "mutants" / path
            if path not in lines:
                lines[path] = path.read_text().splitlines() if path.is_file() else []
            mark = rewrite.MARK.search(lines[path][line - 1]) if line <= len(lines[path]) else None
            number = int(mark[1]) if mark else None
            if " error:" in words:
                result |= {each for each in [number, *context] if each}
                context = []
            elif "required" in words or "constexpr" in words:
                context.append(number)
        return result

    def program(self, name):
        return self.tree / "build" / "mutants" / "tests" / name


class Tests:
    """Every test of some programs: how long it takes, and by which mutants it comes."""

    def __init__(self, build, seed):
        self.build = build
        self.environment = os.environ | {"RC_PARAMS": f"seed={seed} noshrink=1"}
        stamp = [seed] + [os.stat(build.program(each)).st_mtime for each in build.programs]
        stored = build.work / "reached.json"
        if stored.exists() and json.loads(stored.read_text())["stamp"] == stamp:
            known = json.loads(stored.read_text())
        else:
            known = {"stamp": stamp, **self.look()}
            stored.write_text(json.dumps(known))
        self.seconds = {tuple(each[:2]): each[2] for each in known["tests"]}
        self.of_mutant = collections.defaultdict(list)
        for program, name, _, numbers in known["tests"]:
            for number in numbers:
                self.of_mutant[number].append((program, name))
        for each in known["failing"]:
            print(f"Left out, as it fails without a mutant: {each}")

    def run(self, program, names, seconds, **variables):
        """Returns how the program ended, None where its time was up, and what it said."""
        with tempfile.NamedTemporaryFile("w", dir=self.build.work, suffix=".flags") as flags, \
             tempfile.TemporaryFile("w+", errors="replace") as said:  # fmt: skip
            flags.write("--gtest_filter=" + ":".join(names) + "\n--gtest_brief=1\n--gtest_fail_fast\n")
            flags.flush()
            words = ["prlimit", f"--data={MOST_MEMORY}", "--core=0", "--", str(self.build.program(program))]
            child = Child([*words, f"--gtest_flagfile={flags.name}"], stdout=said, stderr=subprocess.STDOUT,
                          env=self.environment | variables, cwd=self.build.work)  # fmt: skip
            status = child.wait(seconds)
            said.seek(0)
            return status, said.read()

    def look(self):
        """Runs each test by itself."""
        names = []
        for program in self.build.programs:
            words = [str(self.build.program(program)), "--gtest_list_tests"]
            suite = ""
            for line in subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines():
                line = line.split("#")[0].rstrip()
                if line.endswith("."):
                    suite = line
                elif line.startswith("  ") and "DISABLED_" not in suite + line:
                    names.append((program, suite + line.strip()))
        tests, failing = [], []
        with concurrent.futures.ThreadPoolExecutor(self.build.jobs) as pool:
            for (program, name), (status, seconds, numbers) in zip(names, pool.map(self.look_at, names), strict=True):
                if status == 0:
                    tests.append((program, name, seconds, numbers))
                else:
                    failing.append(f"{program} {name}")
        return {"tests": tests, "failing": failing}

    def look_at(self, test):
        with tempfile.NamedTemporaryFile(dir=self.build.work, suffix=".reached") as reached:
            reached.write(bytes(len(self.build.mutants) + 1))
            reached.flush()
            begin = time.monotonic()
            status, _ = self.run(test[0], [test[1]], 300, UNIBUF_MUTANTS_REACHED=reached.name)
            seconds = time.monotonic() - begin
            numbers = [number for number, byte in enumerate(pathlib.Path(reached.name).read_bytes()) if byte]
            return status, seconds, numbers

    def find(self, number):
        """Returns how the tests find the mutant: by "a test" or "time", and which; or that it "survived"."""
        batches = collections.defaultdict(list)
        for program, name in self.of_mutant[number]:
            slow = self.seconds[program, name] > QUICK
            batches[slow, self.build.programs.index(program)].append(name)
        for (_, index), names in sorted(batches.items()):
            program = self.build.programs[index]
            limit = 10 + 5 * sum(self.seconds[program, each] for each in names)
            status, said = self.run(program, names, limit, UNIBUF_MUTANT=str(number))
            if status is None:
                return "time", f"{program}, after {limit:.0f} s"
            if status != 0:
                failed = re.findall(r"^\[  FAILED  \] ([\w./]+)", said, re.MULTILINE)
                return "a test", f"{program} {failed[0]}" if failed else f"{program} ended with status {status}"
        return "survived", f"{len(self.of_mutant[number])} tests come by"


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
    print(f"{arguments.folder}: {len(numbers)} of {of} mutants are looked at, by {', '.join(build.programs)}", flush=True)
    tests = Tests(build, arguments.seed)

    begin = time.monotonic()

    def look_at(number):
        if time.monotonic() - begin > arguments.budget:
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
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("mutants.py: interrupted")
