"""Builds a copy of the tree in which the sources of one folder have all their mutants."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import places
import rewrite
from child import Child

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "scripts" / "mutants"

# The programs whose tests see a folder's work; others see it, too, but cost more than they find.
PROGRAMS = {
    "src/coherence": ["unit_tests", "fault_tests", "contract_debug"],
    "src/memory": ["unit_tests", "fault_tests", "contract_debug", "contract_host", "contract_cuda"],
}
USUAL_PROGRAMS = ["unit_tests", "fault_tests", "contract_debug", "contract_host"]


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
        here = [each for each in names if each.startswith(self.folder + "/") and each.endswith((".cpp", ".hpp"))]
        self.sources = [each for each in here if not each.endswith("_macos.cpp")]
        if not self.sources:
            sys.exit(f"mutants.py: no source is in {self.folder}: name a folder of src")
        for each in names:
            if each not in self.sources:
                target = self.tree / each
                write_changed(target, (ROOT / each).read_bytes())
                shutil.copymode(ROOT / each, target)
        kept = set(names) | {"src/unibuf_mutants.hpp"}
        for part in ("src", "include", "tests", "bindings"):
            for path in (self.tree / part).rglob("*"):
                if path.is_file() and str(path.relative_to(self.tree)) not in kept:
                    path.unlink()
        write_changed(self.tree / "src" / "unibuf_mutants.hpp", (HERE / "chosen.hpp").read_bytes())
        every = [mutant for file in self.sources for mutant in places.find(str(ROOT), file)]
        self.mutants = dict(enumerate(every, 1))

    def write_sources(self):
        taken = {n: each for n, each in self.mutants.items() if self.name(each) not in self.refused}
        for file in self.sources:
            here = {n: each for n, each in taken.items() if each.file == file}
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
            words = f"cmake --build --preset mutants -j {self.jobs} --target {' '.join(self.programs)} -- -k 0"
            done, said = self.command(*words.split())
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
        for found in re.finditer(r"^(?:In file included )?(?:from )?(.+?):(\d+):\d+:(.*)$", said, re.MULTILINE):
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
