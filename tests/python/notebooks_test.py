"""The notebooks of examples/notebooks run, also without OpenCL, and show what is stored in them."""

import re

import numpy as np
import pytest
import unibuf

pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("skimage", reason="scikit-image is not installed")
pytest.importorskip("matplotlib", reason="matplotlib is not installed")

import notebooks

STORED = {path.name: notebooks.load(path) for path in notebooks.PATHS}
PICTURES = 150_000  # bytes at most, in all notebooks

# Where what a cell shows depends on the machine, its tag says on what; what is stored is of a machine that has that.
NEEDED = {
    "opencl": "an OpenCL device",
    "opencl-on-cpu": "an OpenCL device without memory of its own",
    "devices": "one device of OpenCL, one of OpenGL, and none of CUDA",
}
OF_A_MACHINE = re.compile(
    r"(?<![\w.])/\w+/|0x[0-9a-f]{6,}|\d\d:\d\d:\d\d|\b20\d\d-\d\d-\d\d"
)  # paths, addresses, times


def has(tag):
    """Whether this machine has what cells with a tag depend on."""
    found = {each.name: each for each in unibuf.devices() if each.available}
    if tag == "devices":
        return set(found) == {"host", "debug:0", "opencl:0", "opengl:0"}
    return "opencl:0" in found and (tag == "opencl" or not found["opencl:0"].own_memory)


def tags(cell):
    return cell.metadata.get("tags", [])


def tagged(notebook, tag):
    """The code cells with a tag; None: those without any."""
    return [cell for cell in notebooks.code_cells(notebook) if tags(cell) == ([tag] if tag else [])]


def check(ran, name, tag=None):
    """Whether cells show what is stored: in text, and in pictures, but for what nobody sees."""
    if "are found by" not in unibuf.get_accelerator("host").properties.description:
        pytest.skip("it ran, and was not compared: host writes are not found here, so that more bytes move")
    for new, old in zip(tagged(ran, tag), tagged(STORED[name], tag), strict=True):
        where = f"the cell {new.id} of {name}; to store what it shows: {notebooks.COMMAND}"
        assert notebooks.texts(new) == notebooks.texts(old), where
        pictures = zip(notebooks.pictures(new), notebooks.pictures(old), strict=True)
        for shown, stored in (map(notebooks.pixels, pair) for pair in pictures):
            assert shown.shape == stored.shape, where
            assert np.abs(shown - stored).mean() < 0.001, where


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs a notebook by its name, once in each environment."""
    done = {}

    def run_once(name, **environment):
        key = (name, *environment.items())
        if key not in done:
            done[key] = notebooks.run(STORED[name], tmp_path_factory.mktemp("notebook"), **environment)
        return done[key]

    return run_once


@pytest.mark.parametrize("name", STORED)
def test_a_notebook_shows_what_is_stored(run, name):
    check(run(name), name)


@pytest.mark.parametrize(
    ("name", "tag"), [(name, tag) for name, stored in STORED.items() for tag in NEEDED if tagged(stored, tag)]
)
def test_what_depends_on_the_machine_is_as_stored(run, name, tag):
    pytest.importorskip("pyopencl", reason="PyOpenCL is not installed")
    if not has(tag):
        pytest.skip(f"what is stored is of a machine with {NEEDED[tag]}")
    check(run(name), name, tag)


@pytest.mark.parametrize("name", STORED)
def test_without_opencl_it_says_what_is_left_out(run, name):
    ran = run(name, OCL_ICD_VENDORS="/nonexistent")
    for cell in tagged(ran, "opencl") + tagged(ran, "opencl-on-cpu"):
        assert "Left out: " in "".join(text for _, text in notebooks.texts(cell)), cell.id
        assert not notebooks.pictures(cell), cell.id
    check(ran, name)  # the cells that depend on no machine


@pytest.mark.parametrize("name", STORED)
def test_what_is_stored_is_whole_and_of_no_machine(name):
    stored = STORED[name]
    assert stored.metadata == notebooks.METADATA
    assert all(set(cell.metadata) <= {"tags"} and set(tags(cell)) <= set(NEEDED) for cell in stored.cells)
    code = notebooks.code_cells(stored)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))  # run from the top, once
    shown = "".join(text for cell in code for _, text in notebooks.texts(cell))
    assert not OF_A_MACHINE.search(shown)
    assert "Left out: " not in shown


def test_the_pictures_are_small():
    cells = [cell for stored in STORED.values() for cell in notebooks.code_cells(stored)]
    assert 0 < sum(len(each) for cell in cells for each in notebooks.pictures(cell)) < PICTURES
