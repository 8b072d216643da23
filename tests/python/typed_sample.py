"""All of the public API, as a program that is checked by mypy --strict uses it. It is checked, and run."""

from __future__ import annotations

import asyncio
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import unibuf
from numpy.typing import NDArray
from typing_extensions import assert_type
from unibuf import (
    Accelerator,
    AcceleratorMemory,
    Budget,
    BufferState,
    CudaView,
    DeviceInfo,
    Finding,
    MemoryPool,
    MetalView,
    OpenCLView,
    Placement,
    PoolStatistics,
    Registry,
    Statistics,
    Trace,
    Traffic,
    TransferCount,
    UnifiedBuffer,
)


def created() -> None:
    assert_type(UnifiedBuffer((3, 4)), UnifiedBuffer[np.float32])
    assert_type(UnifiedBuffer(5), UnifiedBuffer[np.float32])
    assert_type(UnifiedBuffer([3, 4], np.int16), UnifiedBuffer[np.int16])
    assert_type(UnifiedBuffer(np.int64(5)), UnifiedBuffer[np.float32])
    assert_type(UnifiedBuffer((np.int64(3), 4), np.int16), UnifiedBuffer[np.int16])
    assert_type(UnifiedBuffer((3,), dtype=np.dtype(np.complex64)), UnifiedBuffer[np.complex64])
    assert_type(UnifiedBuffer((3,), "f8", pinned=True), UnifiedBuffer[Any])
    UnifiedBuffer[np.uint8](
        (3,),
        np.uint8,
        pinned=False,
        access="read_write",
        hint="cpu_preferred",
        device="host",
        tracking="off",
        uninitialized=True,
    )


def described(buffer: UnifiedBuffer[np.float32]) -> None:
    assert_type(buffer.shape, tuple[int, ...])
    assert_type(buffer.dtype, np.dtype[np.float32])
    assert_type(buffer.ndim + buffer.size + buffer.nbytes + buffer.id, int)
    assert_type(buffer.state, BufferState)
    assert_type(buffer.is_allocated and buffer.pinned and buffer.is_at("host"), bool)
    found = buffer.placement("host")
    assert_type(found, Placement)
    assert_type(found.placement + found.reason, str)
    assert_type(found.pinned, bool)
    assert_type(repr(buffer) + str(buffer.state), str)


def accessed(buffer: UnifiedBuffer[np.float32]) -> None:
    assert_type(buffer.host, NDArray[np.float32])
    assert_type(buffer.io_view("read_write"), NDArray[np.float32])
    assert_type(buffer.device, Any)
    assert_type(buffer.allocate(host=True, device=False), UnifiedBuffer[np.float32])
    with buffer.read("host", offset=1, count=2, timeout=1.5, stream=None) as array:
        assert_type(array, NDArray[np.float32])
    with buffer.write("host") as array:
        array[:] = 1
    with buffer.read_write("host") as array:
        array += 1
    with buffer.read("host", None) as array:
        assert_type(array[1:], NDArray[np.float32])
    with buffer.write() as anywhere:
        assert_type(anywhere, Any)
    with buffer.read(unibuf.default_device(), count=1) as anywhere:
        assert_type(anywhere, Any)
    try:
        with buffer.read("opencl:0").memory_object() as memory:
            assert_type(memory, Any)
            del memory
    except unibuf.DeviceUnavailableError:
        pass
    with buffer.bound("debug:0", access="read", offset=1, count=2, stream=None, told=True, pause=print) as hold:
        assert_type(hold.array, Any)
        assert_type(hold.memory.handle + hold.memory.offset, int)
        hold.pause()
        hold.resume()
    buffer.sync_to_host()
    buffer.sync_to_device(0, 4)
    buffer.synchronize()
    buffer.mark_host_dirty(offset=0, count=None)
    buffer.mark_device_dirty(stream=None)
    buffer.mark_dirty("host", 0, 2)
    buffer.prefetch("host", count=2)
    asyncio.run(later(buffer))


async def later(buffer: UnifiedBuffer[np.float32]) -> None:
    await buffer.ensure_on_host()
    await buffer.ensure_on_device()


def whole(buffer: UnifiedBuffer[np.float32], other: UnifiedBuffer[np.int16]) -> None:
    assert_type(buffer.fill(1.5).zeros(), UnifiedBuffer[np.float32])
    assert_type(buffer.copy_from([[1, 2], [3, 4]]).copy_from(other), UnifiedBuffer[np.float32])
    buffer.copy_to(np.empty((2, 2), np.float64))
    assert_type(buffer.to_numpy(), NDArray[np.float32])
    assert_type(buffer.view(1, 1), UnifiedBuffer[np.float32])
    assert_type(buffer.view[1:3, ::2], UnifiedBuffer[np.float32])
    assert_type(buffer.view[..., 0].strides, tuple[int, ...])
    buffer.view[0, 1:] += 1
    buffer.view[1:] = np.ones(2)
    assert_type(len(buffer), int)
    buffer[0, 1] = buffer[1, 0]
    assert_type([float(row[0]) for row in buffer], list[float])
    assert_type(np.asarray(buffer), NDArray[Any])
    with memoryview(buffer) as view:
        assert_type(bytes(buffer) == view.tobytes(), bool)
    shared: NDArray[Any] = np.from_dlpack(buffer)
    assert shared.shape == buffer.shape
    buffer.sync_to_device()
    del shared


def as_an_array(buffer: UnifiedBuffer[np.float32]) -> None:
    assert_type(buffer.T, NDArray[np.float32])
    assert_type(buffer.reshape(-1), NDArray[np.float32])
    assert_type(buffer.copy(), NDArray[np.float32])
    assert_type(buffer.astype(np.int32), NDArray[Any])
    assert_type(buffer.strides, tuple[int, ...])
    assert_type(buffer.itemsize + hash(buffer), int)
    assert_type(buffer.item(0), Any)
    _ = buffer.all(), buffer.any(), buffer.argmax(), buffer.argmin(), buffer.max(), buffer.mean(axis=0), buffer.min()
    _ = buffer.prod(), buffer.std(), buffer.sum(), buffer.var(), buffer.ravel(), buffer.flatten()
    assert_type(buffer.tolist(), Any)
    buffer += 1
    buffer.host += 1
    buffer.device += 1
    buffer.view[0].host[:] *= 2
    assert np.add(buffer, 1).shape == buffer.shape


def dropped(buffer: UnifiedBuffer[np.float32]) -> None:
    buffer.discard_content()
    buffer.free()
    buffer.allocate()
    try:
        buffer.discard("host")
    except unibuf.AccessConflictError:
        pass  # nobody else has it


def at_metal(buffer: UnifiedBuffer[np.float32]) -> None:
    try:
        assert_type(buffer.metal, Any)
        view = buffer.metal_view()
        assert_type(view, MetalView)
        assert_type(view.handle + view.offset, int)
        assert_type(view.mlx(), Any)
        buffer.mark_metal_dirty()
    except (unibuf.UnsupportedError, unibuf.DeviceUnavailableError, unibuf.BufferNotAllocatedError) as failure:
        assert_type(str(failure), str)


def viewed(buffer: UnifiedBuffer[np.float32]) -> None:
    try:
        view = buffer.cuda(0)
    except unibuf.DeviceUnavailableError:
        return
    assert_type(view, CudaView)
    assert_type(view.ptr + view.nbytes, int)
    assert_type(view.__cuda_array_interface__, dict[str, Any])
    assert_type(view.__dlpack_device__(), tuple[int, int])
    assert_type(view.cupy(), Any)


def viewed_by_opencl(buffer: UnifiedBuffer[np.float32]) -> None:
    try:
        view = buffer.opencl(0)
    except unibuf.DeviceUnavailableError:
        return
    assert_type(view, OpenCLView)
    assert_type(view.handle + view.offset + view.nbytes, int)
    assert_type(view.__dlpack_device__(), tuple[int, int])
    assert_type(view.pyopencl(None), Any)


def counted(buffer: UnifiedBuffer[np.float32]) -> None:
    found: Statistics = buffer.statistics
    assert_type(unibuf.total_statistics(), Statistics)
    assert_type(found.transfers, tuple[TransferCount, ...])
    assert_type(found.bytes_moved + found.transfers_made + found.publications, int)
    assert_type(found.fence_waits + found.evictions, int)
    for each in found.transfers:
        assert_type(each.source + each.target + each.cause, str)
        assert_type(each.transfers + each.nbytes, int)
    unibuf.reset_statistics()


def guarded(buffer: UnifiedBuffer[np.float32]) -> None:
    with unibuf.guard("error", from_="host", to="debug:0"), unibuf.guard("log"), unibuf.budget(0, to="host") as spent:
        assert_type(spent, Budget)
        assert_type(spent.moved, int)


def traced(buffer: UnifiedBuffer[np.float32], file: str) -> None:
    unibuf.keep_events(1024)
    with unibuf.trace(file, close=True) as written:
        assert_type(written, Trace)
        assert_type(written.file, str)
    assert_type(written.traffic(), Traffic)
    assert_type(written.findings(), list[Finding])
    written.report(file + ".html")
    assert_type(unibuf.traffic(file), Traffic)
    found = unibuf.traffic()
    assert_type(found.moved + found.least + found.declared + found.found + found.assumed, int)
    assert_type(found.ratio, float)
    assert_type(buffer.why(), list[str])


def pooled() -> None:
    pool = MemoryPool()
    assert_type(unibuf.get_memory_pool(), MemoryPool)
    buffer = pool.acquire((np.int64(10),), np.float32, pinned=False)
    assert_type(buffer, UnifiedBuffer[Any])
    pool.release(buffer)
    with pool.scoped((10,), hint="coherent") as scoped:
        assert_type(scoped, UnifiedBuffer[Any])
    pool.reserve(2, 1024, "host")
    pool.limit(1 << 20)
    pool.limit(None)
    pool.trim(100)
    pool.clear()
    found: PoolStatistics = pool.statistics
    assert_type(found.hits + found.misses + found.held + found.held_bytes + found.peak_memory, int)
    assert_type(found.current_bytes + found.current_count + found.peak_bytes + found.peak_count, int)
    assert_type(found.total_bytes + found.total_count, int)
    with pool.numpy_allocator():
        assert_type(np.zeros(3, np.float32), np.ndarray[tuple[int], np.dtype[np.float32]])
    try:
        assert_type(pool.cupy_allocator(100), Any)
    except unibuf.DeviceUnavailableError as failure:
        assert_type(str(failure), str)


def named(buffer: UnifiedBuffer[np.float32]) -> None:
    assert_type(unibuf.registry, Registry)
    unibuf.registry.add("typed", buffer, keep=True)
    assert_type(unibuf.registry.get("typed"), UnifiedBuffer[Any] | None)
    assert_type(unibuf.registry["typed"], UnifiedBuffer[Any])
    unibuf.registry["typed"] = buffer
    assert_type(unibuf.registry.names(), list[str])
    assert_type("typed" in unibuf.registry and len(unibuf.registry) > 0, bool)
    assert_type(unibuf.registry.remove("typed"), bool)
    assert_type(list(unibuf.registry), list[str])


def there_already() -> None:
    array = np.zeros(3)
    assert_type(unibuf.from_numpy(array), UnifiedBuffer[Any])
    assert_type(unibuf.asarray([1, 2], np.float32, hint="coherent"), UnifiedBuffer[Any])
    assert_type(unibuf.empty((2, 3)), UnifiedBuffer[Any])
    assert_type(unibuf.zeros(3, "f4"), UnifiedBuffer[Any])
    assert_type(unibuf.ones(3, pinned=False), UnifiedBuffer[Any])
    assert_type(unibuf.full(3, 1.5), UnifiedBuffer[Any])
    assert_type(unibuf.empty_like(array), UnifiedBuffer[Any])
    assert_type(unibuf.zeros_like(array, shape=(2,)), UnifiedBuffer[Any])
    assert_type(unibuf.ones_like(array, "i4"), UnifiedBuffer[Any])
    assert_type(unibuf.full_like(array, 2), UnifiedBuffer[Any])
    assert_type(unibuf.from_dlpack(array), UnifiedBuffer[Any])
    buffer = UnifiedBuffer((3,), np.int16)
    assert_type(buffer.share(), str)
    assert_type(unibuf.attach(buffer.share()), UnifiedBuffer[Any])


def asked() -> None:
    for each in unibuf.devices():
        assert_type(each, DeviceInfo)
        assert_type(each.name + each.reason + each.description, str)
        assert_type(each.properties, dict[str, str])
    assert_type(unibuf.__version__, str)
    unibuf.set_default_device("host")
    assert_type(unibuf.default_device(), str)
    unibuf.set_default_timeout(None)
    forever: float | None = unibuf.default_timeout()
    assert forever is None
    unibuf.limit_memory("host", None)
    unibuf.trim_memory("host")
    accelerator: Accelerator = unibuf.get_accelerator("host")
    assert_type(accelerator.space, str)
    assert_type(accelerator.properties, DeviceInfo)
    assert_type(accelerator.memory, AcceleratorMemory)
    assert_type(accelerator.memory.free, int | None)
    try:
        assert_type(accelerator.get_memory_info(), tuple[int, int])
        unibuf.get_accelerator("opencl:0").queue.finish()
    except unibuf.UnsupportedError as failure:
        assert_type(failure, unibuf.UnsupportedError)


ERRORS: tuple[type[unibuf.UnibufError], ...] = (
    unibuf.AccessConflictError,
    unibuf.BufferNotAllocatedError,
    unibuf.DeviceLostError,
    unibuf.DeviceUnavailableError,
    unibuf.InvalidArgumentError,
    unibuf.LeaseTimeoutError,
    unibuf.OutOfMemoryError,
    unibuf.OutOfRangeError,
    unibuf.TransferFailedError,
    unibuf.UnsupportedError,
)


def main() -> None:
    buffer = UnifiedBuffer((2, 2), np.float32)
    accessed(buffer)
    described(buffer)
    whole(buffer, UnifiedBuffer((2, 2), np.int16).fill(3))
    as_an_array(buffer)
    counted(buffer)
    with TemporaryDirectory() as folder:
        traced(buffer, f"{folder}/trace")
        guarded(buffer)
    viewed(buffer)
    viewed_by_opencl(buffer)
    at_metal(buffer)
    named(buffer)
    created()
    pooled()
    there_already()
    asked()
    dropped(buffer)


if __name__ == "__main__":
    main()
