"""Buffers that processes share."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import unibuf
from conftest import as_numpy, usable
from unibuf import BufferState, UnifiedBuffer

N = 50_000


@pytest.fixture
def other():
    """Runs functions in one other process, which keeps what they leave in its globals."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()

    def call(function, *arguments):
        ours.send((function, arguments))
        result = ours.recv()
        if isinstance(result, Exception):
            raise result
        return result

    call.process = process
    yield call
    ours.close()
    process.join(10)
    process.kill()


held = {}


def serve(pipe):
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        try:
            result = function(*arguments)
        except Exception as failure:
            result = failure
        pipe.send(result)


def attach(name):
    held["buffer"] = unibuf.attach(name)
    return held["buffer"].shape, held["buffer"].dtype, held["buffer"].state


def total():
    return float(held["buffer"].host.sum())


def set_element(index, value):
    held["buffer"].host[index] = value


def device_newest(space, value):
    unibuf.set_default_device(space)
    array = held["buffer"].device
    array[...] = value
    held["buffer"].mark_device_dirty()
    return held["buffer"].state


def mirrored_newest(space, value):
    with held["buffer"].write(usable(space)) as array:
        array.fill(value)


def on_device(space):
    unibuf.set_default_device(space)
    return as_numpy(held["buffer"].device)


def sync_to_host():
    held["buffer"].sync_to_host()


def share_again():
    return held["buffer"].share()


def drop():
    held.clear()


def mark_host():
    held["buffer"].mark_host_dirty()


def share_or_wait(buffer):
    """Another thread's use of the buffer may be in the way for a moment."""
    while True:
        try:
            return buffer.share()
        except unibuf.AccessConflictError:
            time.sleep(0.001)


def open_memory_files():
    return [path for path in Path("/proc/self/fd").iterdir() if "memfd:unibuf" in os.path.realpath(path)]


def test_both_processes_see_one_memory(other):
    buffer = UnifiedBuffer((N,), np.float64)
    buffer.host[:] = 1
    name = buffer.share()
    assert buffer.share() == name
    assert other(attach, name) == ((N,), np.float64, BufferState.HOST_DIRTY)
    assert other(total) == N
    mine = buffer.host
    mine[0] = 5
    assert other(total) == N + 4
    other(set_element, 1, 7)
    assert mine[1] == 7
    assert buffer.to_numpy()[1] == 7


def test_what_one_writes_at_the_host_the_others_device_gets(other, default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer((N,))
    buffer.host[:] = 1
    other(attach, buffer.share())
    assert buffer.device[3] == 1
    other(set_element, 3, 9)
    assert buffer.device[3] == 9
    assert buffer.state is BufferState.SYNCHRONIZED
    buffer.host[4] = 8
    assert other(on_device, "debug:0")[4] == 8


def test_newer_content_on_the_others_device_is_no_stale_read(other):
    buffer = UnifiedBuffer((N,))
    buffer.host[:] = 1
    other(attach, buffer.share())
    assert other(device_newest, "debug:0", 2) is BufferState.DEVICE_DIRTY
    assert buffer.state is BufferState.DEVICE_DIRTY
    for access in (lambda: buffer.host, buffer.to_numpy, lambda: buffer.device, buffer.mark_device_dirty):
        with pytest.raises(unibuf.AccessConflictError, match=f"process {other.process.pid}"):
            access()
    other(sync_to_host)
    assert buffer.host[0] == 2
    assert buffer.state is not BufferState.DEVICE_DIRTY


def test_a_crash_with_newer_content_is_told_and_settled(other):
    buffer = UnifiedBuffer((N,), hint="gpu_preferred")  # debug:0 would leave poison at the host
    buffer.host[:] = 1
    other(attach, buffer.share())
    other(mirrored_newest, usable("opencl:0"), 2)
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.join()
    with pytest.raises(unibuf.TransferFailedError, match="has ended with newer content"):
        _ = buffer.host
    buffer.mark_host_dirty()
    assert buffer.host.sum() == N
    buffer.host[0] = 3
    assert buffer.device[0] == 3


def test_a_crash_leaves_the_other_side_usable_and_nothing_behind(other):
    before = len(open_memory_files())
    names = set(Path("/dev/shm").iterdir())
    buffer = UnifiedBuffer((N,))
    buffer.host[:] = 1
    other(attach, buffer.share())
    os.kill(other.process.pid, signal.SIGKILL)
    other.process.join()
    assert buffer.host.sum() == N
    assert len(open_memory_files()) == before + 1
    del buffer
    assert len(open_memory_files()) == before
    assert {path for path in Path("/dev/shm").iterdir() if "unibuf" in path.name} <= names


def test_the_one_that_made_it_may_go_first(other):
    code = "import sys, unibuf; b = unibuf.UnifiedBuffer((4,)).fill(6); print(b.share(), flush=True); sys.stdin.read()"
    maker = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    name = maker.stdout.readline().strip()
    buffer = unibuf.attach(name)
    maker.kill()
    maker.communicate()
    assert buffer.to_numpy().tolist() == [6, 6, 6, 6]
    with pytest.raises(unibuf.InvalidArgumentError, match="has ended"):
        unibuf.attach(name)
    other(attach, buffer.share())
    assert other(total) == 24


def test_names_that_are_none_or_no_longer_good():
    for name in ("", "nonsense", "unibuf:1:2", f"unibuf:{os.getpid()}:99999:1"):
        with pytest.raises(ValueError, match="was to be attached"):
            unibuf.attach(name)
    buffer = UnifiedBuffer((3,)).fill(1)
    name = buffer.share()
    del buffer
    with pytest.raises(unibuf.InvalidArgumentError):
        unibuf.attach(name)


def test_sharing_is_refused_while_arrays_are_held():
    buffer = UnifiedBuffer((N,))
    array = buffer.host
    with pytest.raises(unibuf.AccessConflictError, match=r"arrays or views of it are held.*: drop them \[unibuf"):
        buffer.share()
    array[0] = 1
    del array
    with buffer.bound("debug:0"), pytest.raises(unibuf.AccessConflictError, match="a standing hold uses it"):
        buffer.share()
    assert unibuf.attach(buffer.share()).host[0] == 1


@pytest.mark.parametrize(
    "dtype", [np.int8, np.complex64, ">i4", [("x", "<f4"), ("y", "<i8", (2,))], "M8[ns]", "S7", ml_dtypes.bfloat16]
)
def test_shapes_types_and_options_are_told(dtype):
    buffer = UnifiedBuffer((2, 3), dtype, hint="gpu_preferred")
    buffer._copy_bytes_from(bytes(range(6)) * buffer.dtype.itemsize)
    found = unibuf.attach(buffer.share())
    assert (found.shape, found.dtype) == (buffer.shape, buffer.dtype)
    assert found._options()["hint"] == "gpu_preferred"
    assert found.to_numpy().tobytes() == buffer.to_numpy().tobytes()


def test_what_other_languages_share_has_its_type_and_shape():
    doubles = UnifiedBuffer((2, 3), np.float64).fill(4)
    found = unibuf.attach(doubles._share("<f8 2,3"))
    assert found.to_numpy().tolist() == [[4.0, 4.0, 4.0]] * 2 and found.dtype == np.float64
    plain = UnifiedBuffer((2, 3)).fill(1)
    found = unibuf.attach(plain._share(""))
    assert (found.shape, found.dtype) == ((24,), np.uint8)
    numbers = UnifiedBuffer((2, 3), np.int64)
    assert unibuf._native.description_of(numbers.share()).startswith("<i8 2,3\n")


@pytest.mark.parametrize(
    "description",
    [
        "nonsense",
        "<f4 2,x",
        "<f4 -6",
        "<f4 7",
        "<f4 99999999999999999999",
        "<f4 6\n(",
        "<f4 6\n('<f4', 5)",
        "<f4 6\n('<f4', {'none': 1})",
        "<f4 6\n('<f4', {'hint': 1})",
        "<f4 6\n('ml_dtypes:finfo', {})",
        "<f4 6\n('|O', {})",
        "<f4 6\n" + "(" * 3000,
    ],
)
def test_what_another_process_says_of_a_buffer_is_not_relied_on(description):
    buffer = UnifiedBuffer((6,)).fill(1)
    with pytest.raises((unibuf.UnibufError, TypeError)):
        unibuf.attach(buffer._share(description))
    assert buffer.to_numpy().sum() == 6


def test_empty_buffers_can_be_shared():
    assert unibuf.attach(UnifiedBuffer((0, 3)).share()).shape == (0, 3)


def test_a_shared_buffer_is_not_released_to_a_pool():
    pool = unibuf.MemoryPool()
    buffer = pool.acquire((10,))
    buffer.share()
    with pytest.raises(unibuf.InvalidArgumentError, match="processes share"):
        pool.release(buffer)
    assert buffer.host.sum() == 0


def test_a_process_has_one_buffer_of_it():
    buffer = UnifiedBuffer((N,)).fill(1)
    again = unibuf.attach(buffer.share())
    assert again.id == buffer.id
    unibuf.set_default_device("debug:0")
    again.device[3] = 9
    again.mark_device_dirty()
    assert buffer.host[3] == 9
    assert list(unibuf.registry) == []


def test_handles_look_at_others_too(other, default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer((N,)).fill(1)
    other(attach, buffer.share())
    view = buffer.view(0, 10)
    unibuf.registry.add("kept", buffer, keep=True)
    assert view.device[3] == 1
    other(set_element, 3, 9)
    assert view.device[3] == 9
    id_ = buffer.id
    del buffer
    other(set_element, 3, 10)
    named = unibuf.registry["kept"]
    assert named.id == id_ and named.device[3] == 10
    unibuf.registry.remove("kept")


def test_a_partial_write_of_ones_own_hides_nothing_of_others(other, default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer((N,)).fill(1)
    other(attach, buffer.share())
    _ = buffer.device
    buffer.host[0] = 2
    other(set_element, N - 1, 9)
    assert buffer.device[N - 1] == 9 and buffer.device[0] == 2


def test_a_claim_that_was_overruled_is_dropped(other):
    buffer = UnifiedBuffer((N,), hint="gpu_preferred").fill(1)
    other(attach, buffer.share())
    space = usable("opencl:0")
    with buffer.write(space) as array:
        array.fill(5)
    other(mark_host)
    other(set_element, 0, 7)
    assert buffer.state is BufferState.HOST_DIRTY
    assert buffer.host[0] == 7 and buffer.host[1] == 1


def test_a_mark_that_is_refused_gives_up_no_claim(other):
    buffer = UnifiedBuffer((N,)).fill(1)
    other(attach, buffer.share())
    other(device_newest, "debug:0", 2)
    with pytest.raises(unibuf.UnibufError):
        buffer.mark_host_dirty(N, 5)
    with pytest.raises(unibuf.AccessConflictError):
        _ = buffer.host


def test_views_come_along():
    buffer = UnifiedBuffer((N,)).fill(1)
    view = buffer.view(0, 5)
    assert view[0] == 1
    with pytest.raises(unibuf.InvalidArgumentError, match="share all of it"):
        view.share()
    found = unibuf.attach(buffer.share())
    view.host[0] = 7
    assert found[0] == 7 and found[5] == 1


def test_a_buffer_that_was_freed_is_ones_own_again(other):
    buffer = UnifiedBuffer((N,)).fill(1)
    other(attach, buffer.share())
    buffer.free()
    buffer.fill(3)
    assert other(total) == N
    other(drop)
    other(attach, buffer.share())
    assert other(total) == 3 * N


def test_many_threads_share_it_once():
    buffer = UnifiedBuffer((N,)).fill(1)
    names = set()
    threads = [threading.Thread(target=lambda: names.add(share_or_wait(buffer))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names) == 1
    assert unibuf.attach(names.pop()).id == buffer.id
