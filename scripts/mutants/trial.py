"""Runs mutants against the tests that come by their places."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

from child import Child

MOST_MEMORY = 6 << 30  # of a test program: a mutant may ask for any amount
QUICK = 0.15  # seconds: tests that take longer are run when all quick ones have passed


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
        """Returns how the program ended, None where its time was up, and what it said.

        It gets `seconds` of a processor, and three times as long where it waits, or others take the processors.
        """
        with tempfile.NamedTemporaryFile("w", dir=self.build.work, suffix=".flags") as flags, \
             tempfile.TemporaryFile("w+", errors="replace") as said:  # fmt: skip
            flags.write("--gtest_filter=" + ":".join(names) + "\n--gtest_brief=1\n--gtest_fail_fast\n")
            flags.flush()
            limits = ["prlimit", f"--data={MOST_MEMORY}", f"--cpu={seconds:.0f}:{seconds + 5:.0f}", "--core=0", "--"]
            child = Child([*limits, str(self.build.program(program)), f"--gtest_flagfile={flags.name}"], stdout=said,
                          stderr=subprocess.STDOUT, env=self.environment | variables, cwd=self.build.work)  # fmt: skip
            status = child.wait(3 * seconds)
            said.seek(0)
            return None if status == -signal.SIGXCPU else status, said.read()

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
