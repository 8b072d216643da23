#!/usr/bin/env python3
"""planted.py [TIER...]: plants faults one at a time, and tells whether their tiers find them.

The faults are those of tests/planted.toml. A tier is a label of tests (`cuda`, `asan host`), or a target of the
Makefile (`make lint`). The faults are planted into a copy of the last commit, in build/planted, and each tier has to
pass there without them. Ends with 1 where one is not found.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "planted"
COPY = FOLDER / "a copy" / "unibuf"
HANGS = 200  # seconds of one test: a fault may let it wait for ever


def run(*words):
    """Runs a command in the copy. Returns its status, and what it said."""
    environment = os.environ | {"CCACHE_BASEDIR": str(COPY), "CCACHE_NOHASHDIR": "1"}
    done = subprocess.run(words, cwd=COPY, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def tail(said, lines=30):
    return "\n".join(said.splitlines()[-lines:])


def make_copy():
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(COPY)], check=True)
    for name in ("venv", "cupy", "peers"):  # what came from elsewhere
        if (ROOT / "build" / name).is_dir():
            (COPY / "build").mkdir(exist_ok=True)
            (COPY / "build" / name).symlink_to(ROOT / "build" / name)


class DoesNotCompile(Exception):
    """A fault that the compiler finds, where tests were to find it. The argument is what it said."""


class Make:
    """A tier that is a target of the Makefile."""

    def __init__(self, words):
        self.words = words.split()

    def prepare(self):
        pass

    def fails(self):
        status, said = run(*self.words)
        return status != 0, said


class Label:
    """A tier that is a label of tests, in the tree of a preset."""

    def __init__(self, words):
        *sanitizer, self.label = words.split()
        self.preset = sanitizer[0] if sanitizer else "release"
        self.targets = ["all"]

    def build(self, targets):
        return run("cmake", "--build", "--preset", self.preset, "--target", *targets)

    def prepare(self):
        for words in (("cmake", "--preset", self.preset), ("cmake", "--build", "--preset", self.preset)):
            status, said = run(*words)
            if status != 0:
                sys.exit(f"planted.py: {' '.join(words)} fails without a fault:\n{tail(said)}")
        self.targets = self.programs()

    def programs(self):
        """Returns what has to be built for the tests: the files that they run; all, where one names none."""
        tree = COPY / "build" / self.preset
        listed = run("ctest", "--preset", self.preset, "-L", f"^{self.label}$", "--show-only=json-v1")[1]
        found = set()
        for test in json.loads(listed[listed.index("{") :])["tests"]:
            words = [pathlib.Path(each) for each in test["command"]]
            here = {str(each.relative_to(tree)) for each in words if each.is_relative_to(tree) and each.is_file()}
            if not here:
                return ["all"]
            found |= here
        return sorted(found)

    def fails(self):
        status, said = self.build(self.targets)
        if status != 0:
            raise DoesNotCompile(tail(said))
        only = ("-L", f"^{self.label}$")
        status, said = run("ctest", "--preset", self.preset, *only, "--stop-on-failure", "--timeout", str(HANGS))
        return status != 0, said


def replace(fault):
    path = COPY / fault["file"]
    text = path.read_text()
    if text.count(fault["find"]) != 1:
        sys.exit(f"planted.py: {fault['file']} has not once, but {text.count(fault['find'])} times: {fault['find']}")
    path.write_text(text.replace(fault["find"], fault["plant"]))


def main():
    faults = tomllib.loads((ROOT / "tests" / "planted.toml").read_text())["fault"]
    tiers = {fault["tier"] for fault in faults}
    asked = sys.argv[1:]
    for each in asked:
        if each not in tiers:
            sys.exit(f"planted.py: no fault is planted for {each!r}, but for {', '.join(sorted(tiers))}")
    faults = [fault for fault in faults if not asked or fault["tier"] in asked]
    make_copy()
    missed = 0
    for fault in faults:
        tier = fault["tier"]
        checked = Make(tier) if tier.startswith("make ") else Label(tier)
        begin = time.monotonic()
        print(f"{tier}: everything is built, and has to pass without the fault first", file=sys.stderr, flush=True)
        checked.prepare()
        fails, said = checked.fails()
        if fails:
            sys.exit(f"planted.py: {tier} fails without a fault:\n{tail(said)}")
        replace(fault)
        try:
            found, said = checked.fails()
        except DoesNotCompile as refusal:
            found, said = False, f"This does not compile:\n{refusal}"
            print(said, file=sys.stderr)
        (FOLDER / f"{tier.replace(' ', '-')}.txt").write_text(said)
        run("git", "checkout", "--", ".")
        missed += not found
        print(
            f"{'found' if found else 'MISSED':<7} {tier:<12} {time.monotonic() - begin:5.0f} s  {fault['what']}",
            flush=True,
        )
    print(f"{len(faults) - missed} of {len(faults)} planted faults were found")
    sys.exit(missed != 0)


if __name__ == "__main__":
    main()
