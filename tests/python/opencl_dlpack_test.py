"""The copy at an OpenCL device as DLPack capsules, whose data is the cl_mem, and what DLPack memory unibuf takes."""

import ctypes

import numpy as np
import pytest
import unibuf
from capsules import Managed, ManagedVersioned, managed, name_of, rename
from conftest import may_be_dropped
from unibuf import BufferState, UnifiedBuffer

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")

N = 6000
CONTENT = np.arange(N, dtype=np.float32)
HERE = (4, 0)


@pytest.fixture(autouse=True)
def default(default_device):
    default_device("opencl:0")


@pytest.fixture(params=[None, "gpu_preferred"])
def buffer(request):
    """One whose copies are shared where the device allows it, and one whose copies are apart."""
    return UnifiedBuffer((N,), hint=request.param).copy_from(CONTENT)


def content_of(tensor):
    """What a consumer reads who knows of the cl_mem no more than the capsule says."""
    queue = UnifiedBuffer((1,)).device.queue
    result = np.empty(tuple(tensor.shape[: tensor.ndim]), np.float32)
    memory = cl.Buffer.from_int_ptr(tensor.data, retain=True)
    cl.enqueue_copy(queue, result, memory, src_offset=tensor.byte_offset)
    return result


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
@pytest.mark.parametrize("of", [lambda b: b.opencl(0), lambda b: b], ids=["view", "buffer"])
def test_capsules(version, of):
    buffer = UnifiedBuffer((2, 3, 4), np.float32).copy_from(CONTENT[:24].reshape(2, 3, 4))
    found = managed(of(buffer).__dlpack__(max_version=version, dl_device=HERE))
    tensor = found.tensor
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (4, 0, 3)
    assert tensor.data == buffer.device.base_data.int_ptr
    assert (tensor.shape[:3], tensor.strides[:3]) == ([2, 3, 4], [12, 4, 1])
    assert (tensor.code, tensor.bits, tensor.lanes) == (2, 32, 1)
    assert np.array_equal(content_of(tensor).reshape(-1), CONTENT[:24])
    assert isinstance(found, ManagedVersioned if version is not None and version[0] >= 1 else Managed)


def test_the_newest_content_is_there(buffer):
    buffer.host[7] = 70
    assert content_of(managed(buffer.__dlpack__(dl_device=HERE)).tensor)[7] == 70
    assert buffer.state is BufferState.SYNCHRONIZED


def test_a_part_begins_at_its_offset(buffer):
    view = buffer.view(1000, 100)
    tensor = managed(view.__dlpack__(dl_device=HERE)).tensor
    whole = managed(buffer.__dlpack__(dl_device=HERE)).tensor
    assert tensor.data == whole.data  # a cl_mem is no address
    assert tensor.byte_offset == whole.byte_offset + 4000
    assert np.array_equal(content_of(tensor), CONTENT[1000:1100])


def test_a_rectangle_has_strides_in_elements(buffer):
    grid = UnifiedBuffer((10, 20))
    tensor = managed(grid.view[1::2, 3:8].__dlpack__(dl_device=HERE)).tensor
    assert (tensor.shape[:2], tensor.strides[:2], tensor.byte_offset % 4096) == ([5, 5], [40, 1], 92)
    assert managed(grid.opencl().__dlpack__()).tensor.strides[:2] == [20, 1]


def test_what_a_consumer_writes_is_marked(buffer):
    view = buffer.opencl()
    view.pyopencl().fill(np.float32(3))
    buffer.mark_device_dirty()
    assert (buffer.host == 3).all()
    assert view.pyopencl().base_data.int_ptr == view.handle == managed(view.__dlpack__()).tensor.data


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_an_unused_capsule_lets_go(buffer, version):
    capsule = buffer.__dlpack__(max_version=version, dl_device=HERE)
    assert not may_be_dropped(buffer, "opencl:0")
    del capsule
    assert may_be_dropped(buffer, "opencl:0")


def test_a_consumer_calls_the_deleter(buffer):
    capsule = buffer.__dlpack__(dl_device=HERE)
    found = managed(capsule)
    rename(capsule, b"used_" + name_of(capsule))
    del capsule, found.capsule
    assert not may_be_dropped(buffer, "opencl:0")
    found.deleter(ctypes.addressof(found))
    assert may_be_dropped(buffer, "opencl:0")


def test_the_memory_outlives_the_buffer(buffer):
    capsule = buffer.__dlpack__(dl_device=HERE)
    del buffer
    assert np.array_equal(content_of(managed(capsule).tensor), CONTENT)


def test_the_buffer_gives_the_host_unless_the_device_is_named(buffer):
    _ = buffer.device
    assert buffer.__dlpack_device__() == (1, 0)
    assert managed(buffer.__dlpack__()).tensor.device_type == 1
    assert buffer.opencl(0).__dlpack_device__() == HERE
    assert managed(buffer.opencl(0).__dlpack__(stream=-1, copy=False)).tensor.device_type == 4


@pytest.mark.parametrize("asked", [
    {"stream": 1}, {"copy": True}, {"dl_device": (4, 1)}, {"dl_device": (1, 0)},
], ids=str)  # fmt: skip
def test_what_cannot_be_exported_is_refused(buffer, asked):
    for error in (BufferError, ValueError, unibuf.UnibufError):
        with pytest.raises(error):
            buffer.opencl(0).__dlpack__(**asked)


@pytest.mark.parametrize("index", [99, -1])
def test_a_device_that_is_missing_is_named(buffer, index):
    with pytest.raises(BufferError, match=str(index)) as refusal:
        buffer.__dlpack__(dl_device=(4, index))
    assert isinstance(refusal.value, unibuf.UnibufError)


def test_a_view_exposes_its_own_memory_only(buffer):
    view = buffer.opencl(0)
    for name in ("__array__", "__array_interface__", "__array_struct__", "__buffer__", "__cuda_array_interface__"):
        assert not hasattr(view, name)
    assert (view.space, view.nbytes, view.shape, view.dtype) == ("opencl:0", 4 * N, (N,), np.float32)


# What comes in


def test_memory_of_the_host_alone_is_taken(buffer):
    with pytest.raises(BufferError, match=r"\(1, 0\), .* \(4, 0\) was given: .*copy_from"):
        unibuf.from_dlpack(buffer.opencl(0))
    with pytest.raises(BufferError, match=r"\(4, 0\) was given"):
        UnifiedBuffer((N,)).copy_from(buffer.opencl(0))
    content = CONTENT.copy()
    assert np.shares_memory(unibuf.from_dlpack(OnlyDlpack(content)).host, content)
    with pytest.raises(unibuf.InvalidArgumentError, match="the memory of another buffer"):
        unibuf.from_dlpack(buffer)


class OnlyDlpack:
    def __init__(self, of):
        self.__dlpack__, self.__dlpack_device__ = of.__dlpack__, of.__dlpack_device__


def test_copies_from_what_exports_memory_of_the_host():
    assert np.array_equal(UnifiedBuffer((N,)).copy_from(OnlyDlpack(CONTENT.copy())).host, CONTENT)
