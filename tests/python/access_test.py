"""The right to touch a buffer for a while, what is left of it, and the copies that come and go."""

import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import as_numpy
from unibuf import (
    AccessConflictError,
    BufferNotAllocatedError,
    BufferState,
    LeaseTimeoutError,
    UnibufError,
    UnifiedBuffer,
)


def ones(shape=(4, 5), dtype=np.float32, **options):
    return UnifiedBuffer(shape, dtype, **options).fill(1)


@pytest.mark.parametrize("how", ["missing", "interrupted"])
@pytest.mark.parametrize("take", ["write", "read_write", "read"])
def test_a_block_that_shows_no_array_leaves_all_as_it_was(take, how):
    """The package of the arrays of its space cannot be imported; or Ctrl-C comes before the first of them is made."""
    program = f"""
import signal, sys
from unibuf import DeviceUnavailableError, UnifiedBuffer, devices
if not any(each.name == "opencl:0" for each in devices()):
    sys.exit("skip")
buffer = UnifiedBuffer(4, hint="gpu_preferred").fill(7)

class Interrupts:
    def find_spec(self, name, path, target=None):
        if name == "pyopencl":
            signal.raise_signal(signal.SIGINT)

if {how == "missing"}:
    sys.modules["pyopencl"] = None
else:
    sys.meta_path.insert(0, Interrupts())
try:
    with buffer.{take}("opencl:0"):
        pass
except (DeviceUnavailableError, KeyboardInterrupt) as failure:
    kept = failure  # and the frames that it went through
assert (buffer.host == 7).all()
assert type(kept) is ({"DeviceUnavailableError" if how == "missing" else "KeyboardInterrupt"})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    if "skip" in done.stderr:
        pytest.skip("opencl:0 is not there")
    assert done.returncode == 0, done.stderr


def test_blocks(device):
    buffer = ones()
    with buffer.read("host") as array:
        assert array.shape == (4, 5) and not array.flags.writeable
        with buffer.read() as other:
            assert (as_numpy(other) == 1).all()
        for take in (buffer.write, buffer.read_write):
            with pytest.raises(BufferError, match="the same thread holds a read lease"):
                take("host").__enter__()
    with buffer.read_write("host", offset=5, count=3) as array:
        assert array.shape == (3,) and array.flags.writeable
        array += 1
        with buffer.write("host", offset=8) as rest:
            assert rest.shape == (12,)
            rest[:] = 3
    assert buffer.to_numpy().ravel().tolist() == [1] * 5 + [2] * 3 + [3] * 12
    for part in ({"count": 21}, {"offset": 21}, {"offset": 20, "count": 1}):
        with pytest.raises(IndexError):
            buffer.read("host", **part).__enter__()
    block = buffer.read("host")
    for _ in range(2):
        with block, pytest.raises(ValueError, match="entered already"):
            block.__enter__()


def test_block_of_another_thread():
    buffer, held, done = ones(), threading.Event(), threading.Event()

    def hold():
        with buffer.write("host"):
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        for error, timeout in ((LeaseTimeoutError, 0), (TimeoutError, 0.01), (UnibufError, np.float32(0.01))):
            with pytest.raises(error, match="another thread kept a write lease"):
                buffer.read("host", timeout=timeout).__enter__()
    finally:
        done.set()
        thread.join()
    with buffer.read("host", timeout=0) as array:
        assert array.shape == (4, 5)


@pytest.mark.parametrize(
    "timeout, error", [("x", TypeError), (-1, ValueError), (float("nan"), ValueError), ([], TypeError)]
)
def test_no_timeout(timeout, error):
    with pytest.raises(error, match="a timeout is a number of seconds, or None for ever"):
        ones().read("host", timeout=timeout)


@pytest.mark.parametrize("space", ["nope", "", "host:0", "cuda", "vulkan:0"])
def test_no_space(space):
    with pytest.raises(ValueError, match="space"):
        ones().read(space)


@pytest.mark.parametrize("blocks", [0, 3])
@pytest.mark.parametrize("size", [20, 20000])
def test_arrays_that_are_left_of_a_block(size, blocks, default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(size)
    for _ in range(blocks):
        with buffer.write("host") as array:
            array[:] = 7
    with buffer.write("host") as array:
        array[:] = 1
        part, raw = array[5:9], memoryview(array)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 2
    assert buffer.device[6] == 1
    part[1] = 7
    assert buffer.state is BufferState.HOST_DIRTY and buffer.device[6] == 7
    raw[7] = 8
    assert buffer.device[7] == 8
    with pytest.raises(AccessConflictError, match=r"arrays or views of the host's copy are held.*: drop them \[unibuf"):
        buffer.discard_content()
    del array, part, raw
    buffer.discard_content()


def test_an_array_of_a_block_is_given_again_where_nobody_has_it():
    buffer = ones()
    seen = []
    for _ in range(6):
        with buffer.read_write("host") as array:
            array += 1
            seen.append(id(array))
    assert len(set(seen[2:])) <= 2  # the variable has the last one
    assert (buffer.to_numpy() == 7).all()


def test_an_array_that_somebody_has_is_not_given_again():
    buffer = ones()
    kept = []
    for value in range(6):
        with buffer.write("host") as array:
            array[...] = value
            kept.append(array)
    assert len({id(each) for each in kept}) == 6
    for each in kept:
        assert not each.flags.writeable
        with pytest.raises(ValueError):
            each.setflags(write=True)
    del array, kept
    with buffer.read("host") as array:
        assert not array.flags.writeable and not array.base.flags.writeable
        with pytest.raises(ValueError):
            array.setflags(write=True)


@pytest.mark.parametrize(
    "change", [lambda array: setattr(array, "shape", (20,)), lambda array: array.setflags(write=False)]
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_done_to_an_array_of_a_block_is_not_seen_in_the_next(change):
    buffer = ones()
    for _ in range(6):
        with buffer.write("host") as array:
            assert array.shape == (4, 5) and array.flags.writeable
            change(array)
        del array


def test_arrays_that_are_kept_for_blocks_keep_no_copy(device):
    buffer = ones()
    for _ in range(3):
        with buffer.read("host") as array, buffer.read(device) as other:
            assert (array == 1).all() and (as_numpy(other) == 1).all()
        del array, other
    if device != "host":
        buffer.discard("host")  # raises where an array keeps the copy
    with buffer.read("host") as array:
        assert (array == 1).all()
    del array
    buffer.discard_content()
    for _ in range(3):
        with buffer.read("host") as array:
            assert not array.any()


def test_arrays_of_very_many_buffers_are_not_all_kept():
    program = """
from unibuf import UnifiedBuffer
buffers = [UnifiedBuffer(1, "uint8") for _ in range(33000)]
for value in range(4):
    for buffer in buffers:
        with buffer.write("host") as array:
            array[0] = value
        del array
    assert all(buffer.host[0] == value for buffer in buffers[::1000])
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_block_that_nobody_leaves_lasts_as_long_as_its_array():
    for blocks in range(3):
        buffer = ones()
        for _ in range(blocks):
            with buffer.read("host"):
                pass
        array = buffer.write("host").__enter__()
        with pytest.raises(BufferError, match="the same thread holds a write lease"):
            buffer.read("host").__enter__()
        array[...] = 5
        del array
        assert (buffer.to_numpy() == 5).all()


# Copies and their statistics


def test_allocate_and_free(device):
    buffer = UnifiedBuffer(1000)
    assert not buffer.is_allocated and not buffer.is_at("host") and not buffer.is_at(device)
    assert buffer.allocate(device=False) is buffer and buffer.is_allocated
    assert buffer.is_at(device) == (device == "host")
    assert buffer.allocate().is_at(device)
    buffer.fill(3).free()
    assert not buffer.is_allocated and not buffer.is_at("host") and not buffer.host.any()
    with pytest.raises(BufferNotAllocatedError, match="no copy at debug:0"):
        UnifiedBuffer(3).placement("debug:0")


def test_discard():
    buffer = ones()
    with buffer.read("debug:0"):
        pass
    view = buffer.view(1, 2)
    view.host.sum()  # the array is held by nobody but the view
    buffer.discard("host")
    assert buffer.state is BufferState.DEVICE_ONLY
    with pytest.raises(BufferError, match="current nowhere else"):
        buffer.discard("debug:0")
    array = buffer.host
    with pytest.raises(BufferError, match=r"arrays or views of the host's copy are held.*: drop them \[unibuf"):
        buffer.discard("host")
    assert (array == 1).all()
    view.host.sum()
    del array
    buffer.discard_content()
    assert not buffer.to_numpy().any()


def test_statistics(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(1000)
    buffer.host[:] = 1
    _ = buffer.device
    buffer.mark_device_dirty()
    with buffer.read("host"):
        pass
    with buffer.write("debug:0", count=10):
        pass
    buffer.to_numpy()
    found = {
        (each.source, each.target, each.cause): (each.transfers, each.nbytes) for each in buffer.statistics.transfers
    }
    assert found == {
        ("host", "debug:0", "device_handle"): (1, 4000),
        ("debug:0", "host", "read"): (1, 4000),
        ("debug:0", "host", "copy_to"): (1, 40),
    }
    assert buffer.statistics.bytes_moved == 8040 and buffer.statistics.transfers_made == 3


@pytest.mark.parametrize("space", ["host", "debug:0"])
def test_free_waits_for_blocks_of_others_and_is_refused_in_ones_own(space):
    buffer = UnifiedBuffer(10).fill(1)
    with buffer.write(space) as array:
        with pytest.raises(AccessConflictError, match="same thread"):
            buffer.free()
        array[:] = 5
    assert buffer.host.sum() == 50
    with buffer.read(space) as array, buffer.bound("debug:0", access="read") as hold:  # go on with what was there
        buffer.free()
        assert (array == 5).all() and (hold.array == 5).all() and (buffer.host == 0).all()
    inside, done = threading.Event(), []

    def write():
        with buffer.write(space) as array:
            inside.set()
            time.sleep(0.05)
            array[:] = 6
            done.append(True)

    thread = threading.Thread(target=write)
    thread.start()
    inside.wait()
    buffer.free()
    assert done
    thread.join()


def test_memory_for_io_counts_as_written_as_long_as_its_array_is_there(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(1000, hint="gpu_preferred").fill(1)
    buffer.sync_to_device()
    array = buffer.io_view()
    for value in (2, 3):
        array[:] = value
        assert (buffer.to_numpy() == value).all() and (as_numpy(buffer.device) == value).all()
    part = array[3:5]
    del array
    with pytest.raises(AccessConflictError, match="an io_view of some of these bytes is out"):
        buffer.fill(1, at="debug:0")
    del part
    buffer.fill(4, at="debug:0")
    kept = buffer.io_view("read_write")
    assert (kept == 4).all()
    with pytest.raises(ValueError, match="mode is one of 'write', 'read_write'; 'read' was asked for"):
        buffer.io_view("read")
