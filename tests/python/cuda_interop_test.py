"""The copy at a CUDA device for other libraries: the CUDA array interface, streams, CuPy."""

import ctypes
import gc
import subprocess
import sys
import threading

import cupy
import numpy as np
import pytest
import unibuf
from conftest import as_numpy, may_be_dropped
from held_stream import Driver
from unibuf import BufferState, UnifiedBuffer

N = 6000
CONTENT = np.arange(N, dtype=np.float32)


@pytest.fixture(autouse=True)
def default(default_device):
    default_device("cuda:0")


@pytest.fixture
def buffer():
    result = UnifiedBuffer((N,))
    result.host[:] = CONTENT
    return result


# A view of the copy


def test_fields_of_the_array_interface():
    buffer = UnifiedBuffer((3, 4), np.int16).fill(1)
    view = buffer.cuda(0)
    found = view.__cuda_array_interface__
    assert (found["version"], found["shape"], found["typestr"]) == (3, (3, 4), "<i2")
    assert (found["strides"], found["stream"]) == (None, None)
    assert found["data"] == (view.ptr, False)
    assert view.ptr != 0
    assert found == view.__cuda_array_interface__


@pytest.mark.parametrize("shape", [0, (0, 3), (3, 0)])
def test_without_elements(shape):
    view = UnifiedBuffer(shape).cuda(0)
    assert view.__cuda_array_interface__["data"] == (0, False)


def test_a_view_exposes_its_own_memory_only(buffer):
    view = buffer.cuda(0)
    assert hasattr(view, "__cuda_array_interface__")
    for name in ("__array__", "__array_interface__", "__array_struct__", "__buffer__"):
        assert not hasattr(view, name)
    with pytest.raises(TypeError):
        memoryview(view)
    assert not hasattr(buffer, "__cuda_array_interface__")


def test_looking_for_protocols_moves_nothing(buffer):
    view = buffer.cuda(0)
    buffer.host[:] = 0
    before = buffer.statistics.transfers_made
    assert all(hasattr(view, "__cuda_array_interface__") for _ in range(3))
    assert not hasattr(buffer, "__cuda_array_interface__")
    assert buffer.statistics.transfers_made == before
    assert buffer.state is BufferState.HOST_DIRTY


def test_a_view_is_current_when_it_is_made(buffer):
    assert np.array_equal(as_numpy(buffer.cuda().cupy()), CONTENT)
    buffer.host[0] = 5
    assert as_numpy(buffer.cuda().cupy())[0] == 5
    assert buffer.state is BufferState.SYNCHRONIZED


def test_what_is_written_through_a_view_is_marked(buffer):
    array = buffer.cuda(0).cupy()
    array += 1
    buffer.mark_dirty("cuda:0")
    assert np.array_equal(buffer.host, CONTENT + 1)


def test_a_view_keeps_the_copy_in_place(buffer):
    view = buffer.cuda(0)
    assert not may_be_dropped(buffer)
    array = view.cupy()
    del view
    assert not may_be_dropped(buffer)
    del array
    assert may_be_dropped(buffer)


def test_the_memory_outlives_the_buffer(buffer):
    view = buffer.cuda(0)
    del buffer
    gc.collect()
    assert np.array_equal(as_numpy(view.cupy()), CONTENT)


def test_device_is_an_array_of_cupy(buffer):
    array = buffer.device
    assert isinstance(array, cupy.ndarray)
    assert (array.shape, array.dtype) == ((N,), np.float32)
    assert array.data.ptr == buffer.cuda(0).ptr
    assert array is buffer.device


# Streams


@pytest.fixture
def driver():
    made = Driver()
    yield made
    made.close()


class OfCupy:
    def __init__(self, address):
        self.ptr = address


class OfTorch:
    def __init__(self, address):
        self.cuda_stream = address


class OfNumba:
    def __init__(self, address):
        self.handle = ctypes.c_void_p(address)


class OfTheProtocol:
    def __init__(self, address):
        self.address = address

    def __cuda_stream__(self):
        return 0, self.address


@pytest.mark.parametrize("kind", [int, OfCupy, OfTorch, OfNumba, OfTheProtocol])
def test_work_on_a_stream_is_waited_for(buffer, driver, kind):
    driver.set_later(buffer.cuda(0).ptr, 8, N)
    buffer.mark_device_dirty(stream=kind(driver.stream))
    assert buffer.state is BufferState.DEVICE_DIRTY
    threading.Timer(0.05, driver.opened.set).start()
    assert (buffer.host == 8).all()


@pytest.mark.parametrize("array_is_left", [False, True])
def test_the_host_does_not_stop_for_the_stream_of_a_block(buffer, driver, array_is_left):
    with buffer.write("cuda:0", stream=OfCupy(driver.stream)) as array:
        driver.set_later(array.data.ptr, 9, N)
        if not array_is_left:
            del array
    assert not driver.ran_late
    threading.Timer(0.05, driver.opened.set).start()
    assert (buffer.host == 9).all()
    if array_is_left:
        assert as_numpy(array)[0] == 9


@pytest.mark.parametrize("stream", [0, 1, OfCupy(0), OfNumba(None)], ids=["0", "1", "CuPy", "Numba"])
def test_the_default_stream_is_one_too(buffer, stream):
    array = buffer.device
    array += 1
    buffer.mark_device_dirty(stream=stream)
    assert np.array_equal(buffer.host, CONTENT + 1)


@pytest.mark.parametrize("stream", [object(), "a stream", 1.5])
def test_what_is_no_stream_is_named(buffer, stream):
    _ = buffer.device
    with pytest.raises(unibuf.InvalidArgumentError, match="is no stream"):
        buffer.mark_device_dirty(stream=stream)


# What comes in


class OnlyDlpack:
    def __init__(self, view):
        self.__dlpack__, self.__dlpack_device__ = view.__dlpack__, view.__dlpack_device__


@pytest.mark.parametrize(
    "given",
    [lambda b: b.device, lambda b: b.cuda(0), lambda b: OnlyDlpack(b.cuda(0))],
    ids=["CuPy", "array interface", "DLPack"],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_copies_from_device_memory_stay_there(buffer, given, dtype):
    source = given(buffer)
    before = buffer.statistics.transfers_made
    target = UnifiedBuffer((N,), dtype).copy_from(source)
    assert target.state is BufferState.DEVICE_DIRTY
    assert target.statistics.transfers_made == 0
    assert buffer.statistics.transfers_made == before
    assert np.array_equal(target.host, CONTENT)


FORK = """
import os, warnings, unibuf
warnings.filterwarnings("ignore", "This process")  # has threads, and forks
unibuf.set_default_device("cuda:0")
buffer, other = unibuf.UnifiedBuffer(5000).fill(1), unibuf.UnifiedBuffer(5000).fill(2)
buffer.device
buffer.mark_device_dirty()
child = os.fork()
if child == 0:
    for access in (lambda: buffer.host, lambda: other.device, lambda: buffer.sync_to_host()):
        try:
            access()
            os._exit(3)
        except unibuf.DeviceLostError as failure:
            assert "parent process" in str(failure), failure
    os._exit(0 if (other.host == 2).all() else 4)
assert os.waitpid(child, 0)[1] == 0
assert (buffer.host == 1).all()
"""


def test_after_a_fork_the_device_is_the_parents():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_copies_from_device_memory_are_checked(buffer):
    with pytest.raises(ValueError, match="shape"):
        UnifiedBuffer((N + 1,)).copy_from(buffer.device)
    with pytest.raises(TypeError, match="cast"):
        UnifiedBuffer((N,), np.int32).copy_from(buffer.device)
    assert UnifiedBuffer((0, 2)).copy_from(UnifiedBuffer((0, 2)).cuda(0)).shape == (0, 2)


def test_pinned_memory_is_pinned():
    buffer = UnifiedBuffer((N,), pinned=True)
    assert not buffer.pinned  # there is none yet
    buffer.host[:] = CONTENT
    assert buffer.pinned
    assert buffer.placement("host").pinned
    assert np.array_equal(as_numpy(buffer.device), CONTENT)
    assert not UnifiedBuffer((N,)).fill(1).pinned


WITHOUT_CUPY = """
import sys
sys.modules["cupy"] = None  # cannot be imported
import unibuf
buffer = unibuf.UnifiedBuffer((10,))
buffer.host[:] = 1
view = buffer.cuda(0)
for use in (lambda: buffer.device, view.cupy, lambda: buffer.copy_from(view), buffer.read("cuda:0").__enter__):
    try:
        use()
    except unibuf.DeviceUnavailableError as failure:
        print(isinstance(failure, RuntimeError), "CuPy" in str(failure), "cannot be imported" in str(failure))
buffer.mark_dirty("cuda:0")
print(buffer.to_numpy().sum(), len(view.__cuda_array_interface__["shape"]))
"""


def test_without_cupy():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CUPY], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True True True"] * 4 + ["10.0 1"]
