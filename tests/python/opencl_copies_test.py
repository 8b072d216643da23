"""copy_from and copy_to of what PyOpenCL has: arrays, memory objects, of the space's context and of others."""

import threading
import time

import numpy as np
import pytest
import unibuf
from conftest import usable
from unibuf import BufferState, UnifiedBuffer

cl = pytest.importorskip("pyopencl", reason="pyopencl is not installed")
arrays = pytest.importorskip("pyopencl.array")

N = 6000
CONTENT = np.arange(N, dtype=np.float32)


@pytest.fixture
def own():
    """The queue of the space opencl:0."""
    usable("opencl:0")
    return unibuf.get_accelerator("opencl:0").queue


@pytest.fixture(params=["own context", "own queue", "unordered queue", "other context"])
def queue(request, own):
    """Queues whose arrays can, and cannot, be copied at the device."""
    if request.param == "own queue":
        return own
    unordered = cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE
    if request.param == "unordered queue":
        return cl.CommandQueue(own.context, own.device, unordered)
    return cl.CommandQueue(own.context if request.param == "own context" else cl.Context([own.device]))


@pytest.fixture(params=["cpu_preferred", "gpu_preferred"])
def buffer(request):
    """One whose copies are shared where the device allows it, and one whose copies are apart."""
    return UnifiedBuffer((N,), hint=request.param).fill(1)


def memory_of(queue, content, flags=0):
    result = cl.Buffer(queue.context, flags, content.nbytes)
    cl.enqueue_copy(queue, result, content)
    return result


@pytest.mark.parametrize(
    "access",
    [
        lambda b, q: b.read("opencl:0", q).__enter__(),
        lambda b, q: b.read_write("opencl:0", q).memory_object().__enter__(),
        lambda b, q: b.write("opencl:0", q).__enter__(),
        lambda b, q: b.bound("opencl:0", stream=q).__enter__(),
        lambda b, q: b.prefetch("opencl:0", stream=q),
        lambda b, q: b.mark_dirty("opencl:0", stream=q),
    ],
)
def test_a_queue_of_another_context_is_refused_though_nothing_moves(own, buffer, access):
    buffer.prefetch("opencl:0")
    with pytest.raises(unibuf.InvalidArgumentError, match=r"another (OpenCL )?context"):
        access(buffer, cl.CommandQueue(cl.Context([own.device])))
    assert (buffer.to_numpy() == 1).all()


def test_a_queue_out_of_order_goes_on_after_what_its_block_has_brought(own, buffer):
    queue = cl.CommandQueue(own.context, own.device, cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    for step in range(20):
        buffer.host[:] = step
        with buffer.read_write("opencl:0", queue).memory_object() as memory:
            cl.enqueue_fill_buffer(queue, memory, np.float32(step + 0.5), memory.offset, 4)
        values = buffer.to_numpy()
        assert values[0] == step + 0.5 and (values[1:] == step).all()


def test_an_accelerator_has_the_queue_of_blocks(own):
    with UnifiedBuffer((1,)).write("opencl:0") as array:
        assert array.queue == own
    with pytest.raises(unibuf.UnsupportedError, match="host has no queue"):
        _ = unibuf.get_accelerator("host").queue


@pytest.mark.parametrize("state", ["fresh", "host_dirty", "device_dirty"])
def test_arrays_become_the_content(queue, buffer, state):
    if state == "fresh":
        buffer.free()
    if state == "device_dirty":
        with buffer.read_write("opencl:0"):
            pass
    source = arrays.to_device(queue, CONTENT)
    assert buffer.copy_from(source) is buffer
    source.fill(np.float32(0))  # it is the caller's again
    queue.finish()
    assert np.array_equal(buffer.host, CONTENT)
    with buffer.read("opencl:0") as array:
        assert np.array_equal(array.get(), CONTENT)
        del array


def test_the_content_goes_into_arrays(queue, buffer):
    buffer.host[:] = CONTENT
    for mark in (False, True):
        if mark:
            with buffer.read_write("opencl:0") as array:
                array.fill(np.float32(3))
                del array
        out = arrays.zeros(queue, (N,), np.float32)
        buffer.copy_to(out)
        assert np.array_equal(out.get(), np.full(N, 3) if mark else CONTENT)


def test_in_the_own_context_the_device_copies(own):
    buffer = UnifiedBuffer((N,), hint="gpu_preferred").fill(1)
    source = arrays.to_device(own, CONTENT)
    moved = buffer.statistics.bytes_moved
    buffer.copy_from(source)
    assert buffer.state in (BufferState.DEVICE_DIRTY, BufferState.DEVICE_ONLY)
    out = arrays.zeros(own, (N,), np.float32)
    buffer.copy_to(out)
    assert np.array_equal(out.get(), CONTENT)
    assert buffer.statistics.bytes_moved == moved


def test_what_is_at_the_host_alone_is_moved_once(own):
    buffer = UnifiedBuffer((N,), hint="gpu_preferred")
    buffer.host[:] = CONTENT
    out = arrays.zeros(own, (N,), np.float32)
    buffer.copy_to(out)
    assert np.array_equal(out.get(), CONTENT)
    assert not buffer.is_at("opencl:0")


def test_a_device_without_room_is_left_out(own):
    source = arrays.to_device(own, CONTENT)
    buffer = UnifiedBuffer((N,), hint="gpu_preferred").fill(1)
    unibuf.limit_memory("opencl:0", 16)
    try:
        buffer.copy_from(source)
    finally:
        unibuf.limit_memory("opencl:0", None)
    assert not buffer.is_at("opencl:0") and np.array_equal(buffer.host, CONTENT)


def test_work_that_is_queued_is_waited_for(queue, buffer):
    ones = arrays.zeros(queue, (N,), np.float32)
    ready = cl.UserEvent(queue.context)
    memory = memory_of(queue, CONTENT)
    ones.add_event(cl.enqueue_copy(queue, ones.base_data, memory, byte_count=ones.nbytes, wait_for=[ready]))
    timer = threading.Timer(0.1, ready.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    buffer.copy_from(ones)
    timer.join()
    assert np.array_equal(buffer.host, CONTENT)


def test_memory_objects_are_bytes(queue, buffer):
    memory = memory_of(queue, CONTENT)
    queue.finish()
    assert np.array_equal(buffer.copy_from(memory).host, CONTENT)
    buffer.fill(7).copy_to(memory)
    found = np.empty_like(CONTENT)
    cl.enqueue_copy(queue, found, memory)
    assert (found == 7).all()
    part = memory.get_sub_region(0, 1024)
    UnifiedBuffer((1024,), np.uint8).fill(0).copy_to(part)
    cl.enqueue_copy(queue, found, memory)
    assert (found[:256] == 0).all() and found[256] == 7


@pytest.mark.parametrize("part", [
    lambda a: a[100:200], lambda a: a[::-3], lambda a: a.reshape(60, 100)[3:7, 1:50:2], lambda a: a.reshape(60, 100).T,
    lambda a: a.astype(np.int16), lambda a: a[:0], lambda a: a.reshape(60, 100)[7, 9],
])  # fmt: skip
def test_parts_and_other_types(queue, part):
    source = part(arrays.to_device(queue, CONTENT))
    wanted = part(CONTENT)
    buffer = UnifiedBuffer(source.shape).copy_from(source)
    assert np.array_equal(buffer.host, wanted)
    out = arrays.zeros(queue, source.shape, np.complex64)
    buffer.copy_to(out)
    assert np.array_equal(out.get(), wanted)


@pytest.mark.parametrize("dtype", ["M8[s]", "S3", ">f4", [("a", "f4"), ("b", "i2")], "?"], ids=str)
def test_types_that_kernels_lack(queue, dtype):
    content = np.frombuffer(bytes(1 for _ in range(8 * 24)), dtype)
    buffer = UnifiedBuffer(content.shape, dtype)
    buffer.copy_from(arrays.Array(queue, content.shape, content.dtype, data=memory_of(queue, content)))
    assert buffer.to_numpy().tobytes() == content.tobytes()


def test_the_buffers_own_memory(own, buffer):
    buffer.host[:] = CONTENT
    with buffer.read_write("opencl:0"):
        pass
    unibuf.set_default_device("opencl:0")
    array = buffer.device
    assert np.array_equal(buffer.copy_from(array).host, CONTENT)
    buffer.copy_to(array)
    assert np.array_equal(buffer.host, CONTENT)
    buffer.view(10, 100).copy_from(array[:100])  # they overlap
    wanted = CONTENT.copy()
    wanted[10:110] = CONTENT[:100]
    assert np.array_equal(buffer.host, wanted)
    buffer.view(0, 100).copy_to(buffer.device[50:150])
    buffer.mark_device_dirty()
    wanted[50:150] = wanted[:100].copy()
    assert np.array_equal(buffer.host, wanted)
    other = UnifiedBuffer((N,), hint="gpu_preferred").fill(0)
    assert np.array_equal(other.copy_from(buffer.device).host, wanted)


def test_what_the_host_may_not_touch(own):
    source = arrays.to_device(own, CONTENT)
    written = UnifiedBuffer((N,), access="read_only").copy_from(source)
    assert np.array_equal(written.host, CONTENT)
    given = UnifiedBuffer((N,), access="write_only")
    given.host[:] = CONTENT + 1
    given.copy_to(source)
    assert np.array_equal(source.get(), CONTENT + 1)


def test_mistakes_change_nothing(queue, buffer):
    before = buffer.state, buffer.statistics
    short = arrays.zeros(queue, (N - 1,), np.float32)
    wrong = arrays.zeros(queue, (N,), np.complex64)
    strided = arrays.zeros(queue, (2 * N,), np.float32)[::2]
    for mistake, error, why in (
        (lambda: buffer.copy_from(short), ValueError, rf"array of shape \({N - 1},\) was to be .* buffer of \({N},\)"),
        (lambda: buffer.copy_to(short), ValueError, rf"buffer of \({N},\) was .* array of shape \({N - 1},\)"),
        (lambda: buffer.copy_from(short.base_data), ValueError, f"{4 * N - 4} bytes was .* buffer of {4 * N} bytes"),
        (
            lambda: buffer.copy_to(short.base_data),
            ValueError,
            f"buffer of {4 * N} bytes .* {4 * N - 4} bytes: .* equal",
        ),
        (lambda: buffer.copy_from(wrong), TypeError, "complex64 cannot be cast to float32"),
        (lambda: UnifiedBuffer((N,), np.complex64).copy_to(strided), TypeError, "complex64 cannot be cast to float32"),
        (lambda: buffer.copy_to(strided), ValueError, "C-contiguous"),
    ):
        with pytest.raises(error, match=why):
            mistake()
    assert (buffer.state, buffer.statistics) == before
    assert (buffer.host == 1).all()


def test_what_only_another_device_has(own):
    unibuf.set_default_device("debug:0")
    buffer = UnifiedBuffer((N,)).fill(1)
    buffer.device[:] = CONTENT
    buffer.mark_device_dirty()
    out = arrays.zeros(own, (N,), np.float32)
    buffer.copy_to(out)
    assert np.array_equal(out.get(), CONTENT) and not buffer.is_at("opencl:0")
    assert np.array_equal(buffer.zeros().copy_from(out).device, CONTENT)


def test_arrays_without_a_queue(queue, buffer):
    source = arrays.to_device(queue, CONTENT)
    queue.finish()
    assert np.array_equal(buffer.copy_from(source.with_queue(None)).host, CONTENT)
    buffer.fill(2).copy_to(source.with_queue(None))
    assert (source.get() == 2).all()


def test_failures_of_the_driver_are_told(queue, buffer, monkeypatch):
    source = arrays.to_device(queue, CONTENT)

    def fail(*_, **__):
        raise cl.RuntimeError("no luck")

    monkeypatch.setattr(cl, "enqueue_copy", fail)
    with pytest.raises(unibuf.TransferFailedError, match=f"copy {4 * N} bytes: no luck"):
        buffer.copy_to(source)
    assert (buffer.host == 1).all()
    with pytest.raises(OSError, match="no luck"):
        buffer.copy_from(source)
    monkeypatch.undo()
    assert np.array_equal(buffer.copy_from(source).host, CONTENT)


def test_images_have_no_order_of_bytes(own):
    image = cl.create_image(own.context, 0, cl.ImageFormat(cl.channel_order.R, cl.channel_type.FLOAT), (4, 4))
    for copy in (UnifiedBuffer((4, 4)).copy_from, UnifiedBuffer((4, 4)).copy_to):
        with pytest.raises(TypeError, match="no one order of bytes"):
            copy(image)


class Listed:
    """It has a length and elements, and no protocol of arrays."""

    asked = 0

    def __len__(self):
        return 20_000

    def __getitem__(self, index):
        Listed.asked += 1
        time.sleep(1e-4)
        return 1.0


@pytest.mark.parametrize("data", [Listed(), None, {1, 2}, {}, object(), iter([1])])
def test_what_is_no_array_is_told_at_once(data):
    buffer = UnifiedBuffer((20_000,)).fill(1)
    with pytest.raises(TypeError, match=f"copy_from takes an array, .*; {type(data).__name__} was given"):
        buffer.copy_from(data)
    assert Listed.asked == 0 and (buffer.host == 1).all()
