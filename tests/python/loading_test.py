"""A process loads the package once; what is asked for beyond that is refused, and ruins nothing."""

import subprocess
import sys

import pytest

IN_A_SUB_INTERPRETER = """
try:
    import _interpreters
    said = _interpreters.exec(_interpreters.create("legacy"), "import unibuf").msg
except ImportError:
    import _xxsubinterpreters
    try:
        said = _xxsubinterpreters.run_string(_xxsubinterpreters.create(), "import unibuf")
    except _xxsubinterpreters.RunFailedError as failure:
        said = str(failure)
"""

A_SECOND_TIME = """
import sys
for name in [name for name in sys.modules if name.partition(".")[0] == "unibuf"]:
    del sys.modules[name]
try:
    import unibuf
except ImportError as failure:
    said = str(failure)
"""


@pytest.mark.parametrize(
    ("asked", "words"),
    [(IN_A_SUB_INTERPRETER, "in the main interpreter alone"), (A_SECOND_TIME, "a process loads it once")],
)
def test_a_refused_import_leaves_what_is_loaded_as_it_was(asked, words):
    program = f"""
import unibuf as first
buffer = first.UnifiedBuffer(3).fill(1)
assert buffer.host.sum() == 3
{asked}
assert {words!r} in said, said
assert buffer.host.sum() == 3
with buffer.read_write("host") as array:
    array += 1
assert first.UnifiedBuffer(3).copy_from(buffer).device.sum() == 6
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
