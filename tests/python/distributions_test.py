"""Another distribution has files in the folder `unibuf`, as one on the index does: who finds that says what to do."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import unibuf

ROOT = Path(__file__).parents[2]
PACKAGE = Path(unibuf.__file__).parent
THEIRS = {"unibuf/__init__.py": b"def to_text(of):\n    return str(of)\n", "unibuf/tables.py": b""}
CURE = "pip uninstall unibuf unibuf-python"


def ours():
    names = [each for each in PACKAGE.iterdir() if each.is_file()]
    return {f"unibuf/{each.name}": each.read_bytes() for each in names}


def install(site, name, version, files):
    """What pip does: files, and a RECORD of them."""
    about = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {**files, f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()}
    record = ""
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(content)}\n"
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_bytes(content)
    (site / about / "RECORD").write_text(f"{record}{about}/RECORD,,\n")


@pytest.fixture
def site(tmp_path):
    """A folder of packages: called with the names of those that are installed there, in this order."""

    def made(*order):
        for each in order:
            if each == "ours":
                install(tmp_path, "unibuf-python", unibuf.__version__, ours())
            else:
                install(tmp_path, "unibuf", "0.1.1", THEIRS)
        return tmp_path

    return made


def run(site, *arguments):
    path = [site, ROOT / "compat" / "pydotcompute", Path(numpy.__file__).parents[1]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, path))}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=60, env=environment)


def test_alone_it_says_nothing(site):
    folder = site("ours")
    assert run(folder, "-c", "import unibuf, pydotcompute").stderr == ""
    assert CURE not in run(folder, "-m", "unibuf", "doctor").stderr


@pytest.mark.parametrize("asked", [["-c", "import unibuf._native"], ["-c", "from unibuf.buffer import UnifiedBuffer"],
                                   ["-m", "unibuf", "devices"], ["-c", "import pydotcompute"]],
                         ids=lambda asked: asked[-1])  # fmt: skip
def test_where_theirs_was_installed_over_it_the_module_says_so(site, asked):
    folder = site("ours", "theirs")
    done = run(folder, *asked)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: import unibuf found another package of that name: "), done.stderr
    assert f"{folder / 'unibuf'} has files of unibuf 0.1.1, and not" in last and CURE in last


def test_where_a_part_of_it_is_gone_the_module_still_says_so(site):
    folder = site("ours", "theirs")
    (folder / "unibuf" / "_distributions.py").unlink()
    done = run(folder, "-c", "import unibuf._native")
    assert "ImportError: import unibuf found another package of that name" in done.stderr


def test_where_it_was_installed_over_theirs_it_works_and_the_doctor_says_so(site):
    folder = site("theirs", "ours")
    assert run(folder, "-c", "import unibuf; unibuf.UnifiedBuffer(3).fill(1)").stderr == ""
    told = run(folder, "-m", "unibuf", "doctor").stderr
    assert told.startswith("unibuf: import unibuf found another package of that name: ")
    assert "unibuf 0.1.1" in told and CURE in told
    assert CURE not in run(folder, "-m", "unibuf", "devices").stderr


def test_pydotcomputes_paths_say_so_where_theirs_is_the_only_one(site):
    done = run(site("theirs"), "-c", "import pydotcompute")
    assert "has files of unibuf 0.1.1" in done.stderr and CURE in done.stderr


def test_a_distribution_is_one_of_several_where_more_have_files_there(site):
    folder = site("theirs", "ours")
    shutil.copytree(folder / "unibuf-0.1.1.dist-info", folder / "other-1.dist-info")
    (folder / "other-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    assert "other 1 and unibuf 0.1.1" in run(folder, "-m", "unibuf", "doctor").stderr
