"""Traces, and what they say of Python programs."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer


def test_a_trace_has_the_lines_that_asked(tmp_path):
    b = UnifiedBuffer((1000,), dtype="f4")
    with unibuf.trace(tmp_path / "run.trace") as file:
        b.host[:] = 1
        with b.read("debug:0") as there:
            assert there[0] == 1
    assert file.file == str(tmp_path / "run.trace")
    found = unibuf.traffic(file)
    assert found.moved == found.least == b.nbytes
    assert found.ratio == 1
    tool = [sys.executable, "-m", "unibuf", "report", file]
    report = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    assert "moved / least needed: 1.00" in report
    assert f"{__file__}:" in report
    assert "in test_a_trace_has_the_lines_that_asked" in report


def test_what_is_asked_for_after_the_block_is_not_in_the_file(tmp_path):
    b = UnifiedBuffer((10,)).fill(1)
    with unibuf.trace(tmp_path / "a") as file:
        pass
    with b.read("debug:0"):
        pass
    assert unibuf.traffic(file) == unibuf.Traffic(0, 0, 0, 0, 0)
    for inner in (tmp_path / "c", None):
        with unibuf.trace(tmp_path / "b"), pytest.raises(ValueError, match="end that one first"):
            with unibuf.trace(inner):
                pass
    with pytest.raises(ValueError, match="No such file"):
        unibuf.traffic(tmp_path / "missing")


def test_a_buffer_says_why_it_was_copied():
    b = UnifiedBuffer((1000,), dtype="f4")
    b.host[:] = 1
    with b.read("debug:0"):
        pass
    told = b.why()
    assert any("4000 bytes" in each and "from host to debug:0" in each for each in told), told
    assert UnifiedBuffer((3,)).why() == []


def test_no_event_is_kept_where_none_is_wanted():
    unibuf.keep_events(0)
    try:
        b = UnifiedBuffer(np.ones(4).shape).fill(1)
        with b.read("debug:0"):
            pass
        assert b.why() == []
    finally:
        unibuf.keep_events(1024)


def test_a_close_trace_finds_what_could_be_better_and_names_the_line():
    b = UnifiedBuffer((10_000,), dtype="f4").fill(1)
    with unibuf.trace(close=True) as written:
        for _ in range(5):
            with b.read_write("debug:0") as there:
                there += 1
            with b.read_write("host") as here:
                here.max()
    [found] = written.findings()
    assert found.kind == "round_trip"
    assert found.times == 4
    assert found.nbytes == 4 * b.nbytes
    assert found.line.startswith(f"{__file__}:")
    assert "in test_a_close_trace" in found.line
    with open(__file__) as source:
        assert 'b.read_write("host")' in source.readlines()[int(found.line.split(":")[1].split()[0]) - 1]


def test_a_trace_without_a_name_goes_with_its_object():
    with unibuf.trace() as written:
        UnifiedBuffer((3,)).fill(1)
    file = written.file
    assert os.path.exists(file)
    assert written.traffic().declared == 3 * 4
    del written
    gc.collect()
    assert not os.path.exists(file)


def test_a_file_is_named_by_whatever_names_files(tmp_path):
    for name in (tmp_path / "a", str(tmp_path / "a"), os.fsencode(tmp_path / "a")):
        with unibuf.trace(name) as written:
            pass
        assert written.file == str(tmp_path / "a")
        assert unibuf.traffic(name).moved == 0
    for call in (lambda: unibuf.trace(5).__enter__(), lambda: unibuf.traffic(5)):
        with pytest.raises(TypeError, match="expected str, bytes or os.PathLike object, not int"):
            call()


FORK = """
import os, sys, warnings, unibuf
warnings.filterwarnings("ignore", "This process")  # has threads, and forks
b = unibuf.UnifiedBuffer(1000).fill(1)
with unibuf.trace() as written:
    b.prefetch("debug:0")
    child = os.fork()
    if child == 0:
        sys.exit(0)  # drops what is there, as a program does at its end
    assert os.waitpid(child, 0)[1] == 0
    b.host[0] = 5
    b.prefetch("debug:0")
assert written.traffic().moved > b.nbytes, written.traffic()
"""


def test_a_child_of_a_fork_leaves_the_trace_to_its_parent():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_trace_is_shown_as_a_page(tmp_path):
    b = UnifiedBuffer((1000,)).fill(1)
    with unibuf.trace() as written, b.read("debug:0"):
        pass
    written.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "test_a_trace_is_shown_as_a_page" in page
    shown = written._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert shown.count('"') == 4  # what is in the page ends no attribute


def test_a_notebook_shows_the_last_transfers():
    b = UnifiedBuffer((1000,)).fill(1)
    with b.read("debug:0"):
        pass
    with b.write("debug:0"):
        pass
    with b.read("host"):
        pass
    shown = b._repr_html_()
    assert shown.index("host to debug:0, for read") < shown.index("debug:0 to host, for read")
    assert f"{b.nbytes:,} bytes" in shown


def test_a_refused_access_names_the_line_of_the_lease_that_excludes_it():
    b = UnifiedBuffer((10,)).fill(1)
    with b.read("debug:0"):  # so that the next write is no repetition, which would be no event
        pass
    with unibuf.trace(), b.write("host"):  # this line
        with pytest.raises(unibuf.AccessConflictError) as told, b.read("debug:0"):
            pass
    line = next(number for number, text in enumerate(open(__file__), 1) if text.endswith("# this line\n"))
    assert f"it was taken in {__file__}:{line} " in str(told.value)
