"""A process loads the package once; what is asked for beyond that is refused, and ruins nothing."""

import os
import shutil
import subprocess
import sys

import pytest
import unibuf
from conftest import usable

IN_A_SUB_INTERPRETER = """
try:
    import _interpreters
    other = _interpreters.create("legacy")
    said = _interpreters.exec(other, "import unibuf").msg
    _interpreters.destroy(other)
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


def run(program):
    """Returns what the program prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    # From 3.13 on, Python prints there why a module that may not know sub-interpreters was not imported into one.
    assert done.returncode == 0 and (not done.stderr or sys.version_info >= (3, 13)), done.stderr
    return done.stdout + done.stderr


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
print(said)
assert buffer.host.sum() == 3
with buffer.read_write("host") as array:
    array += 1
assert first.UnifiedBuffer(3).copy_from(buffer).device.sum() == 6
"""
    assert words in run(program)


def test_a_sub_interpreter_cannot_be_the_first_to_import_it():
    said = run(IN_A_SUB_INTERPRETER + "print(said)")
    # Python may refuse it before the module is asked.
    assert "in the main interpreter alone" in said or "does not support loading in subinterpreters" in said


@pytest.mark.parametrize("other", ["pyopencl", "mlx.core", "jax"])
def test_other_packages_of_the_same_binding_library_may_be_imported_first(other):
    pytest.importorskip(other, reason=f"{other} is not installed")
    assert (
        run(f"import {other}\nfrom unibuf import UnifiedBuffer\nprint(UnifiedBuffer(3).fill(2).host.sum())") == "6.0\n"
    )


@pytest.mark.skipif(shutil.which("nm") is None, reason="there is no nm to ask")
def test_the_module_exports_nothing_of_the_standard_library():
    # Modules that are loaded later would take its copies of templates for their own.
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", unibuf._native.__file__], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].split("@")[0] for line in listed.stdout.splitlines()}
    assert "PyInit__native" in names
    shared = {"_ZN6unibuf6detail13default_spaceE", "_ZN6unibuf6detail13thread_numberE"}  # with the library beside it
    names = {name for name in names if not name.startswith("UNIBUF_")}  # of versions
    assert names <= {"PyInit__native", "unibuf_is_inside"} | shared


def test_the_loader_of_pyopencl_serves_where_the_system_has_none(tmp_path):
    """As after `pip install 'pyopencl[pocl]'` on a system without OpenCL: here the system's loader cannot be loaded."""
    usable("opencl:0")
    pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    for name in ("libOpenCL.so.1", "libOpenCL.so"):
        (tmp_path / name).write_text("no library")
    program = """
import unibuf
buffer = unibuf.UnifiedBuffer(100, hint="gpu_preferred").fill(3)
with buffer.read_write("opencl:0") as array:
    array += 1
print(buffer.host[5])
"""
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    environment["PYOPENCL_HOME"] = "/of/another/environment"
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("4.0\n", 0), done.stderr
