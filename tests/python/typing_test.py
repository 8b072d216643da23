"""The package's types, as mypy --strict sees them: in a program that uses all of it, and in its own sources."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import unibuf

pytest.importorskip("mypy", reason="mypy is not installed")

SAMPLE = Path(__file__).with_name("typed_sample.py")
PACKAGE = Path(unibuf.__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Calls it; gives its verdict and what it prints, a line each."""
    cache = tmp_path_factory.mktemp("mypy")

    def check(*arguments):
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *arguments],
            check=False,
            env={**os.environ, "MYPYPATH": str(PACKAGE.parent)},
            cwd=cache,
            capture_output=True,
            text=True,
            timeout=280,
        )
        return done.returncode, done.stdout.splitlines()

    return check


def test_a_program_that_uses_all_of_it(mypy):
    verdict, lines = mypy(SAMPLE)
    assert verdict == 0, "\n".join(lines)


def test_the_package_itself(mypy):
    assert (PACKAGE / "_native.pyi").exists()
    verdict, lines = mypy("-p", "unibuf")
    assert verdict == 0, "\n".join(lines)


MISTAKES = """
import numpy as np
from unibuf import UnifiedBuffer
buffer = UnifiedBuffer((3,), np.int16)
buffer.hots
buffer.host = 1
buffer.shape[0] + "rows"
UnifiedBuffer((3,), np.int16, pined=True)
UnifiedBuffer((3,), np.int16, pinned="yes")
UnifiedBuffer("3")
buffer.view("first")
buffer.mark_device_dirty(ofset=3)
other: UnifiedBuffer[np.float32] = buffer
"""


def test_mistakes_are_found(mypy, tmp_path):
    program = tmp_path / "mistakes.py"
    program.write_text(MISTAKES)
    _, lines = mypy(program)
    found = {int(match[1]) for line in lines if (match := re.match(r".*mistakes\.py:(\d+): error:", line))}
    assert found == set(range(5, 14)), "\n".join(lines)


def test_the_program_does_what_it_says():
    runpy.run_path(str(SAMPLE), run_name="__main__")


def test_the_program_uses_all_of_it():
    words = set(re.findall(r"\w+", SAMPLE.read_text()))
    kind = unibuf.UnifiedBuffer
    public = {name for name in dir(kind) if not name.startswith("_") and hasattr(kind, name)}
    assert public - words == set()
    assert set(unibuf.__all__) - words == set()
