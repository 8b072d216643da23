"""The copy at a CUDA device as DLPack capsules."""

import ctypes

import cupy
import numpy as np
import pytest
import unibuf
from capsules import Managed, ManagedVersioned, managed, name_of, rename
from conftest import as_numpy, may_be_dropped
from unibuf import UnifiedBuffer

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


@pytest.mark.parametrize("shape", [0, (0, 3), (3, 0)])
def test_without_elements(shape):
    view = UnifiedBuffer(shape).cuda(0)
    tensor = managed(view.__dlpack__()).tensor
    assert tuple(tensor.shape[: tensor.ndim]) == view.shape
    assert tensor.strides


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
@pytest.mark.parametrize("of", [lambda b: b.cuda(0), lambda b: b], ids=["view", "buffer"])
def test_capsules(version, of):
    buffer = UnifiedBuffer((2, 3, 4), np.int64).fill(1)
    capsule = of(buffer).__dlpack__(max_version=version, dl_device=(2, 0))
    found = managed(capsule)
    tensor = found.tensor
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (2, 0, 3)
    assert tensor.data + tensor.byte_offset == buffer.cuda(0).ptr
    assert (tensor.shape[:3], tensor.strides[:3]) == ([2, 3, 4], [12, 4, 1])
    assert (tensor.code, tensor.bits, tensor.lanes) == (0, 64, 1)
    if version is not None and version[0] >= 1:
        assert isinstance(found, ManagedVersioned)
        assert (found.major, found.flags) == (1, 0)
    else:
        assert isinstance(found, Managed)


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        ("i1", 0, 8),
        ("u4", 1, 32),
        ("f2", 2, 16),
        ("f8", 2, 64),
        ("bfloat16", 4, 16),
        ("c8", 5, 64),
        ("c16", 5, 128),
        ("?", 6, 8),
    ],
)
def test_types(dtype, code, bits):
    if dtype == "bfloat16":
        dtype = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    tensor = managed(UnifiedBuffer((4,), dtype).cuda(0).__dlpack__()).tensor
    assert (tensor.code, tensor.bits, tensor.lanes) == (code, bits, 1)


@pytest.mark.parametrize("dtype", ["datetime64[s]", ">f4", "S3", [("a", "f4")]], ids=str)
def test_types_that_dlpack_lacks(dtype):
    view = UnifiedBuffer((4,), dtype).cuda(0)
    with pytest.raises(BufferError, match="DLPack has no type"):
        view.__dlpack__()


def test_a_part_begins_at_its_address(buffer):
    view = buffer.view(1000, 100).cuda(0)
    tensor = managed(view.__dlpack__()).tensor
    assert tensor.data == view.ptr == buffer.cuda(0).ptr + 4000  # not all consumers add byte_offset
    assert np.array_equal(as_numpy(cupy.from_dlpack(view)), CONTENT[1000:1100])


def test_a_rectangle_has_strides():
    grid = UnifiedBuffer((10, 20)).copy_from(np.arange(200).reshape(10, 20))
    view = grid.view[1::2, 3:8]
    exported = view.cuda(0)
    tensor = managed(exported.__dlpack__()).tensor
    assert (tensor.shape[:2], tensor.strides[:2]) == ([5, 5], [40, 1])  # in elements
    assert exported.__cuda_array_interface__["strides"] == view.strides == (160, 4)
    assert exported.ptr == grid.cuda(0).ptr + 92 and exported.nbytes == view.nbytes
    assert np.array_equal(as_numpy(cupy.asarray(exported)), grid.to_numpy()[1::2, 3:8])


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_an_unused_capsule_lets_go(buffer, version):
    capsule = buffer.cuda(0).__dlpack__(max_version=version)
    assert not may_be_dropped(buffer)
    del capsule
    assert may_be_dropped(buffer)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_consumer_calls_the_deleter(buffer, version):
    capsule = buffer.cuda(0).__dlpack__(max_version=version)
    found = managed(capsule)
    used = b"used_" + name_of(capsule)
    rename(capsule, used)
    del capsule, found.capsule
    assert not may_be_dropped(buffer)
    found.deleter(ctypes.addressof(found))
    assert may_be_dropped(buffer)


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_streams(buffer, stream):
    assert managed(buffer.cuda(0).__dlpack__(stream=stream)).tensor.device_type == 2


def test_stream_0_is_ambiguous(buffer):
    with pytest.raises(BufferError, match="ambiguous"):
        buffer.cuda(0).__dlpack__(stream=0)


@pytest.mark.parametrize("arguments", [{"dl_device": (1, 0)}, {"dl_device": (2, 1)}, {"copy": True}], ids=str)
@pytest.mark.parametrize("error", [BufferError, ValueError, unibuf.UnibufError])
def test_what_takes_a_copy_is_refused(buffer, arguments, error):
    with pytest.raises(error):
        buffer.cuda(0).__dlpack__(**arguments)


def test_what_takes_none_is_given(buffer):
    capsule = buffer.cuda(0).__dlpack__(dl_device=(2, 0), copy=False)
    assert managed(capsule).tensor.data == buffer.cuda(0).ptr


def test_the_buffer_gives_the_host_unless_the_device_is_named(buffer):
    assert buffer.__dlpack_device__() == (1, 0)
    assert managed(buffer.__dlpack__()).tensor.device_type == 1
    assert managed(buffer.__dlpack__(dl_device=(2, 0))).tensor.device_type == 2
