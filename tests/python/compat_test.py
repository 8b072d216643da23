"""The distribution with PyDotCompute's import paths, and PyDotCompute itself: neither harms the other."""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
import unibuf

ROOT = Path(__file__).parents[2]
THEIRS = {
    "pydotcompute/__init__.py": "WHO = 'PyDotCompute'\n",
    "pydotcompute/core/__init__.py": "",
    "pydotcompute/core/memory_pool.py": "class MemoryPool: ...\n",
    "pydotcompute/ring_kernels/__init__.py": "",
}
WHO = "import pydotcompute; print(getattr(pydotcompute, 'WHO', 'unibuf'))"
DOCUMENTED = """
from pydotcompute import UnifiedBuffer, get_accelerator, message
from pydotcompute.core.memory_pool import get_memory_pool
from pydotcompute.core.unified_buffer import BufferState
from pydotcompute.core.accelerator import Accelerator
from pydotcompute.exceptions import BufferNotAllocatedError, MessageError
import pydotcompute.messages, unibuf_pydotcompute
assert get_memory_pool().acquire((3,)).state is BufferState.UNINITIALIZED
try:
    pydotcompute.messages.check(1)
except MessageError:
    print("unibuf")
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Ours, and one that has what matters of theirs."""
    folder = tmp_path_factory.mktemp("wheels")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT / "compat" / "pydotcompute")
    [ours] = folder.glob("*.whl")
    theirs = folder / "pydotcompute-0.2.0-py3-none-any.whl"
    about = "pydotcompute-0.2.0.dist-info"
    files = {
        **THEIRS,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: pydotcompute\nVersion: 0.2.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={digest(text)},{len(text)}\n" for name, text in files.items())
    with zipfile.ZipFile(theirs, "w") as wheel:
        for name, text in {**files, f"{about}/RECORD": f"{record}{about}/RECORD,,\n"}.items():
            wheel.writestr(name, text)
    return {"ours": ours, "theirs": theirs}


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Environment:
    """A virtual environment, in which unibuf and NumPy can be imported from where they are for this test."""

    def __init__(self, folder, wheels):
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        self.site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
        self.wheels = wheels

    def install(self, name, *options):
        pip("--python", self.python, "install", "--no-index", "--no-deps", *options, self.wheels[name])

    def uninstall(self, name):
        pip("--python", self.python, "uninstall", "--yes", name)

    def run(self, code, *options, also=()):
        path = [*also, Path(unibuf.__file__).parents[1], Path(np.__file__).parents[1]]
        return subprocess.run(
            [self.python, *options, "-c", code],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))},
            cwd=self.python.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def who(self):
        done = self.run(WHO)
        return done.stdout.strip() or done.stderr.splitlines()[-1]

    def has_theirs_whole(self):
        return all((self.site / name).read_text() == text for name, text in THEIRS.items())


@pytest.fixture
def environment(tmp_path, wheels):
    return Environment(tmp_path / "venv", wheels)


def test_alone(environment):
    environment.install("ours")
    done = environment.run(DOCUMENTED)
    assert (done.stdout.strip(), done.stderr) == ("unibuf", "")


@pytest.mark.parametrize("order", [["theirs", "ours"], ["ours", "theirs"]], ids=" then ".join)
def test_beside_pydotcompute_neither_overwrites_the_other(environment, order):
    for each in order:
        environment.install(each)
    assert environment.has_theirs_whole()
    assert environment.who() == "PyDotCompute"
    refused = environment.run("import unibuf_pydotcompute")
    assert "ImportError: `import pydotcompute` is PyDotCompute itself here" in refused.stderr
    assert str(environment.site) in refused.stderr

    environment.uninstall("unibuf-pydotcompute")
    assert environment.has_theirs_whole()
    assert environment.who() == "PyDotCompute"
    assert not (environment.site / "pydotcompute.py").exists()


def test_who_uninstalls_pydotcompute_gets_ours(environment):
    environment.install("ours")
    environment.install("theirs")
    environment.uninstall("pydotcompute")
    (environment.site / "pydotcompute" / "__pycache__").mkdir(parents=True, exist_ok=True)  # what an import may leave
    assert environment.run(DOCUMENTED).stdout.strip() == "unibuf"


@pytest.mark.parametrize("options", [[], ["-S"]], ids=["with site", "without site"])
def test_in_a_folder_of_its_own(environment, tmp_path, options):
    target = tmp_path / "target"
    environment.install("ours", "--target", target)
    assert environment.run(DOCUMENTED, *options, also=[target]).stdout.strip() == "unibuf"
    environment.install("theirs", "--target", target)
    assert environment.run(WHO, *options, also=[target]).stdout.strip() == "PyDotCompute"
    assert "is PyDotCompute itself" in environment.run("import unibuf_pydotcompute", *options, also=[target]).stderr
