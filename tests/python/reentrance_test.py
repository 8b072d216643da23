"""What Python calls in the middle of the package's work, and objects that nobody has made."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer


@pytest.fixture(autouse=True)
def device():
    unibuf.set_default_device("debug:0")
    yield
    unibuf.set_default_device("host")


class Index:
    """An index that changes, or raises."""

    def __init__(self, *values):
        self.values = list(values)

    def __index__(self):
        value = self.values.pop(0)
        if isinstance(value, BaseException):
            raise value
        return value


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, ValueError, RuntimeError])
def test_what_an_index_raises_is_raised(kind):
    b = UnifiedBuffer(5).fill(1)

    def generator():
        raise kind("mine")
        yield

    for use in (
        lambda: UnifiedBuffer(Index(kind("mine"))),
        lambda: UnifiedBuffer((3, Index(kind("mine")))),
        lambda: UnifiedBuffer(generator()),
        lambda: b.view[Index(kind("mine"))],
        lambda: b.view[: Index(kind("mine"))],
        lambda: b.view[:: Index(kind("mine"))],
    ):
        with pytest.raises(kind, match="mine"):
            use()
    with pytest.raises(ValueError, match="a step of 0"):
        _ = b.view[::0]
    with pytest.raises(TypeError, match="a shape is an int"):
        UnifiedBuffer("text")


def test_an_index_that_changes_assigns_to_what_it_names_now():
    b = UnifiedBuffer(4, np.int64).copy_from(np.arange(1, 5))
    index, view = Index(0, 2), b.view
    first = view[index]
    view[index] = first
    assert b.host.tolist() == [1, 2, 1, 4]
    for constant in (0, slice(0, 2), (slice(None, 3),), ...):
        b.view[constant] += 1
    assert b.host.tolist() == [5, 5, 3, 5]


def test_objects_that_nobody_has_made_are_refused():
    b = UnifiedBuffer(4)
    views = type(b.view)
    for use in (
        lambda of: of[0],
        lambda of: of.__setitem__(0, 1),
        lambda of: of(0),
        lambda of: of.nothing,
        lambda of: repr(of),
    ):
        with pytest.raises((TypeError, AttributeError)):
            use(views.__new__(views))
    with pytest.raises(BufferError):
        memoryview(unibuf._native.Memory.__new__(unibuf._native.Memory))
    with b.bound("debug:0") as hold:
        kind = type(hold)
    with pytest.raises(TypeError, match="made by"):
        kind.__new__(kind).resume()


def test_names_that_are_no_text_are_refused():
    b = UnifiedBuffer(4)
    for use in (
        lambda: getattr(b.view, "\udc80x"),
        lambda: b.read("\udc80"),
        lambda: unibuf.set_default_device("\udc80"),
        lambda: unibuf.registry.add("\udc80", b),
    ):
        with pytest.raises((AttributeError, UnicodeEncodeError)):
            use()
    for stream in (-1, 2**64):
        with pytest.raises(TypeError, match="address"):
            b.read("debug:0", stream)


@pytest.mark.parametrize("size", [16, 5000])
@pytest.mark.parametrize(
    "made_of",
    [memoryview, lambda a: a.data, lambda a: np.frombuffer(a, "i4"), lambda a: a[:], lambda a: a.reshape(2, -1)[0]],
)
def test_what_was_made_of_a_blocks_array_is_found_though_no_variable_has_that(size, made_of):
    for rounds in 1, 3:
        b = UnifiedBuffer(size, np.int32).fill(1)
        for _ in range(rounds):
            block = b.write("host")
            made = made_of(block.__enter__())
            block.__exit__(None, None, None)
        _ = b.device
        try:
            made[3] = 77
        except (TypeError, ValueError):
            continue  # read-only: NumPy's own way to say so
        assert b.device[3] == 77
        del made


def test_a_block_in_a_circle_with_its_array_is_collected():
    import gc

    class Named(np.ndarray):
        pass

    b = UnifiedBuffer(4)
    block = b.write("host")
    named = block.__enter__().view(Named)
    named.block = block
    del block, named
    gc.collect()
    b.write("host").__enter__()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_of_another_thread_hears_signals_in_its_waits():
    status = []

    def fork():
        child = os.fork()
        if child == 0:
            try:
                signal.signal(signal.SIGALRM, lambda *_: os._exit(7))
                signal.setitimer(signal.ITIMER_REAL, 0.3)
                b = UnifiedBuffer(4)
                held = threading.Event()

                def hold():
                    with b.write("host"):
                        held.set()
                        time.sleep(20)

                threading.Thread(target=hold, daemon=True).start()
                held.wait()
                b.read("host", timeout=10).__enter__()
            finally:
                os._exit(1)
        status.append(os.waitpid(child, 0)[1])

    thread = threading.Thread(target=fork)
    thread.start()
    thread.join()
    assert os.waitstatus_to_exitcode(status[0]) == 7
