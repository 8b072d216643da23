"""What guards refuse and tell, what budgets count, and the marks for pytest."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import unibuf
from unibuf import AccessConflictError, UnifiedBuffer

pytest_plugins = ["pytester"]

D = "debug:0"


@pytest.fixture
def content(default_device):
    default_device(D)
    buffer = UnifiedBuffer((1024,), hint="gpu_preferred").fill(1)
    buffer.sync_to_device()
    buffer.host[:] = 2
    return buffer


def use(buffer):
    with buffer.read(D):
        pass


def test_an_access_that_would_move_bytes_is_refused(content):
    before = content.statistics.bytes_moved
    with unibuf.guard(to=D):
        with pytest.raises(AccessConflictError, match="4096 bytes from host to debug:0, and a guard refuses"):
            use(content)
        with pytest.raises(AccessConflictError):
            content.device  # noqa: B018
        assert content.statistics.bytes_moved == before
        content.sync_to_device()
        with content.read(D) as there:
            assert there[3] == 2


def test_it_ends_with_its_block_and_with_its_thread(content):
    with pytest.raises(ZeroDivisionError), unibuf.guard():
        1 / 0  # noqa: B018
    with unibuf.guard():
        thread = threading.Thread(target=use, args=(content,))
        thread.start()
        thread.join()
    assert content.statistics.transfers[-1].cause == "read"
    content.host[:] = 3
    use(content)


def test_it_tells(content, capfd):
    with unibuf.guard("log", from_="host"):
        use(content)
    assert "4096 bytes from host to debug:0" in capfd.readouterr().err


def test_it_is_about_its_direction(content):
    with unibuf.guard(from_=D), content.read_write(D) as there:
        there[:] = 4
    with unibuf.guard(from_=D), pytest.raises(AccessConflictError):
        np.asarray(content.host)


@pytest.mark.parametrize("arguments", [("refuse",), (3,)])
def test_actions_are_named(arguments):
    with pytest.raises(unibuf.InvalidArgumentError, match="allow, log, error"), unibuf.guard(*arguments):
        pass


def test_a_budget_counts(content):
    with unibuf.budget(4096, to=D) as spent, content.read(D):
        assert spent.moved == 4096
    content.host[:] = 5
    with pytest.raises(
        AccessConflictError, match="4096 bytes were moved, and a budget allows 10: 4096 from host to debug:0"
    ):
        with unibuf.budget(10):
            content.sync_to_device()
    with pytest.raises(KeyError), unibuf.budget(0):
        content.host[:] = 6
        content.sync_to_device()
        raise KeyError
    for wrong in (-1, "1 MB", None):
        with pytest.raises((TypeError, unibuf.InvalidArgumentError), match="a budget"), unibuf.budget(wrong):
            pass


CHILD = """
import sys, unibuf
buffer = unibuf.attach(sys.argv[1])
with buffer.write("debug:0") as there:
    there[:] = 7
del there
with unibuf.guard():
    del buffer
"""


def test_what_a_process_leaves_is_kept():
    buffer = UnifiedBuffer((1024,)).fill(1)
    subprocess.run([sys.executable, "-c", CHILD, buffer.share()], check=True, timeout=60)
    assert (buffer.host == 7).all()


A_MODULE = """
import pytest, unibuf

@pytest.fixture
def content():
    unibuf.set_default_device("debug:0")
    return unibuf.UnifiedBuffer((1024,), hint="gpu_preferred").fill(1)

def use(content):
    content.host[:] = 2
    content.sync_to_device()

pytestmark = pytest.mark.unibuf_guard("error")

@pytest.mark.unibuf_guard("allow")
def test_the_nearest_decides(content):
    with content.read("debug:0"):
        pass

@pytest.mark.unibuf_budget(4096)
def test_within(content):
    use(content)

@pytest.mark.unibuf_budget(4095, to="debug:0")
def test_beyond(content):
    use(content)

def test_by_the_way(content):
    content.host[:] = 2
    with content.read("debug:0"):
        pass
"""


def test_marks(pytester):
    pytester.makeconftest('pytest_plugins = ["unibuf.pytest_plugin"]')
    pytester.makepyfile(A_MODULE)
    done = pytester.runpytest_subprocess("--strict-markers", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(["*4096 bytes were moved, and a budget allows 4095*", "*and a guard refuses*"])
