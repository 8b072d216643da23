"""The wheels, as `pip install .` makes them, work where nothing else of this project is."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

QUICKSTART = """
import unibuf
buffer = unibuf.UnifiedBuffer((1000,))
buffer.host[:] = 2
assert buffer.device.sum() == 2000, buffer
assert unibuf.__version__.count(".") == 2
print(unibuf.__file__)
"""

DOCUMENTED = """
from pydotcompute import UnifiedBuffer, get_accelerator, message
from pydotcompute.core.memory_pool import get_memory_pool
from pydotcompute.core.unified_buffer import BufferState
from pydotcompute.core.accelerator import Accelerator
from pydotcompute.exceptions import BufferNotAllocatedError
assert get_memory_pool().acquire((3,)).state is BufferState.UNINITIALIZED
"""


def built(source, folder, *options):
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
               "--disable-pip-version-check", "--wheel-dir", str(folder), *options, str(source)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Both packages, unpacked."""
    site = tmp_path_factory.mktemp("site")
    # A folder beside that of the build that is tested, and its options, so that a compiler cache knows them.
    build = ROOT / "build" / "wheel-test"
    shutil.rmtree(build, ignore_errors=True)
    options = [f"-Cbuild-dir={build}", "-Ccmake.define.UNIBUF_WERROR=ON", "-Ccmake.define.CMAKE_CXX_COMPILER=g++"]
    native = built(ROOT, tmp_path_factory.mktemp("native"), *options)
    compat = built(ROOT / "compat" / "pydotcompute", tmp_path_factory.mktemp("compat"))
    for wheel in (native, compat):
        zipfile.ZipFile(wheel).extractall(site)
    return site, native


def run(code, site):
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONNOUSERSITE": "1"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=60,
                          check=False, cwd=site)  # fmt: skip


def test_the_wheel_holds_the_library_and_the_types(site):
    assert site[1].name.startswith("unibuf_python-")  # the name `unibuf` is somebody else's
    names = zipfile.ZipFile(site[1]).namelist()
    inside = {name.removeprefix("unibuf/").split(".")[0] for name in names if name.startswith("unibuf/")}
    assert {"_native", "libunibuf", "py", "buffer", "errors"} <= inside
    assert "unibuf/_native.pyi" in names and "unibuf/py.typed" in names
    assert not [name for name in names if name.startswith(("include", "lib", "share")) or "/native/" in name]
    if sys.version_info >= (3, 12):
        assert "-cp312-abi3-" in site[1].name


def test_the_wheel_runs(site):
    done = run(QUICKSTART, site[0])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(str(site[0]))


def test_the_documented_import_paths(site):
    done = run(DOCUMENTED, site[0])
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_takes_no_driver_and_no_other_array_library(site):
    done = run("import sys, unibuf; print([m for m in ('cupy', 'mlx', 'pyopencl', 'dask', 'distributed', 'asyncio') "
               "if m in sys.modules])\nprint([line.split()[-1] for line in open('/proc/self/maps') "
               "if 'libcuda' in line or 'libOpenCL' in line or 'libEGL' in line])", site[0])  # fmt: skip
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stdout + done.stderr
