"""The copy at a Metal device. On Linux there is the double, and an MLX that computes on the CPU."""

import ctypes
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import unibuf
from capsules import managed
from conftest import usable
from unibuf import BufferNotAllocatedError, BufferState, MetalView, UnifiedBuffer

N = 6000
CONTENT = np.arange(N, dtype=np.float32)


@pytest.fixture(autouse=True)
def metal():
    return usable("metal:0")


@pytest.fixture
def buffer():
    return UnifiedBuffer(N).copy_from(CONTENT)


@pytest.fixture
def mlx():
    return pytest.importorskip("mlx.core", reason="MLX is not installed")


@pytest.fixture
def without_metal(mlx):
    if mlx.metal.is_available():
        pytest.skip("this MLX has Metal")
    return mlx


class Taken:
    """What an MLX with Metal makes of a view: it keeps the capsule, and knows the buffer."""

    def __init__(self, view, copy):
        assert copy is False
        self.device = view.__dlpack_device__()
        self.capsule = view.__dlpack__()
        tensor = managed(self.capsule).tensor
        self.shape = tuple(tensor.shape[: tensor.ndim])
        self.strides = tuple(tensor.strides[: tensor.ndim])
        self.handle = tensor.data
        self.offset = tensor.byte_offset


@pytest.fixture
def with_metal(monkeypatch):
    """In the place of an MLX with Metal, which only a Mac has."""
    core = SimpleNamespace(metal=SimpleNamespace(is_available=lambda: True), from_dlpack=Taken)
    monkeypatch.setitem(sys.modules, "mlx", SimpleNamespace(core=core))
    monkeypatch.setitem(sys.modules, "mlx.core", core)


def test_an_mlx_array_of_the_content(buffer, without_metal):
    with pytest.warns(RuntimeWarning, match="this MLX has no Metal, so that `metal` is a copy"):
        array = buffer.metal
    assert isinstance(array, without_metal.array) and array.shape == (N,)
    assert float(without_metal.sum(array)) == pytest.approx(CONTENT.sum(), rel=1e-4)


def test_an_mlx_array_over_the_memory(buffer, with_metal):
    array = buffer.metal
    assert array.device == (MetalView.DLPACK, 0) == (8, 0)
    assert array.shape == (N,) and array.strides == (1,)
    assert array.handle == buffer.metal_view().handle and array.offset == 0
    part = buffer.view[100:].metal
    assert part.handle == array.handle and part.offset == 400 and part.shape == (N - 100,)
    column = UnifiedBuffer((4, 3)).fill(1).view[:, 1].metal
    assert column.shape == (4,) and column.strides == (3,) and column.offset == 4


def test_blocks_give_arrays(buffer, with_metal):
    with buffer.read("metal:0") as array:
        assert isinstance(array, Taken) and array.shape == (N,)


def test_states_are_those_of_the_documents(with_metal):
    buffer = UnifiedBuffer(N)
    assert buffer.state is BufferState.UNINITIALIZED
    buffer.host[:] = CONTENT
    assert buffer.state in (BufferState.HOST_ONLY, BufferState.HOST_DIRTY)
    _ = buffer.metal
    assert buffer.state is BufferState.SYNCHRONIZED
    buffer.mark_metal_dirty()
    assert buffer.state is BufferState.DEVICE_DIRTY
    assert (buffer.host == CONTENT).all()
    assert buffer.state is BufferState.SYNCHRONIZED


def test_nothing_moves_where_the_memory_is_the_host_s(buffer, with_metal):
    before = unibuf.total_statistics().bytes_moved
    _ = buffer.metal
    buffer.mark_metal_dirty()
    assert (buffer.host == CONTENT).all()
    assert unibuf.total_statistics().bytes_moved == before
    assert buffer.placement("metal:0").placement == "shared"


def test_what_the_gpu_has_not_cannot_be_marked(buffer):
    with pytest.raises(BufferNotAllocatedError, match="metal:0"):
        buffer.mark_metal_dirty()


def test_an_array_keeps_its_memory(buffer, with_metal):
    array = buffer.metal
    with pytest.raises(unibuf.AccessConflictError):
        buffer.discard("metal:0")
    del array
    buffer.discard("metal:0")


def test_without_mlx_there_is_the_view(buffer, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlx.core", None)
    with pytest.raises(AttributeError, match="arrays at metal:0 need the package mlx, .*metal_view"):
        _ = buffer.metal
    assert not hasattr(buffer, "metal")
    view = buffer.metal_view()
    assert view.handle and view.space == "metal:0" and view.nbytes == 4 * N


def test_capsules_of_a_buffer(buffer):
    tensor = managed(buffer.__dlpack__(dl_device=(8, 0))).tensor
    assert tensor.device_type == 8 and tensor.data == buffer.metal_view().handle
    with pytest.raises(BufferError, match="Metal has no streams"):
        buffer.metal_view().__dlpack__(stream=1)
    with pytest.raises(BufferError, match="metal:7"):
        buffer.__dlpack__(dl_device=(8, 7))


def test_the_device_s_memory_is_told():
    accelerator = unibuf.get_accelerator("metal:0")
    free, total = accelerator.get_memory_info()
    assert 0 < free <= total


def test_a_default_device(buffer, with_metal, default_device):
    default_device("metal:0")
    assert isinstance(buffer.device, Taken)
    buffer.mark_device_dirty()
    assert buffer.state is BufferState.DEVICE_DIRTY


def test_handles_are_objects(buffer):
    """What a program in Objective-C or PyObjC makes of a handle: an object that answers."""
    if sys.platform == "darwin":
        runtime = ctypes.CDLL("/usr/lib/libobjc.A.dylib")
    else:
        runtime = ctypes.CDLL("libMetal.so")
    runtime.sel_registerName.restype = ctypes.c_void_p
    send = ctypes.CFUNCTYPE(ctypes.c_ulong, ctypes.c_void_p, ctypes.c_void_p)(("objc_msgSend", runtime))
    length = send(buffer.metal_view().handle, runtime.sel_registerName(b"length"))
    assert length >= buffer.nbytes
