"""The arrays that a buffer keeps to give them out again go where they are in the way, and others have none of them."""

import gc
import threading
import weakref

import numpy as np
import pytest
import unibuf
from unibuf import BufferState, UnifiedBuffer

GPU = "debug:0"
N = 5000


@pytest.fixture
def buffer(default_device):
    default_device(GPU)
    return UnifiedBuffer(N, np.int32).fill(1)


def both(buffer):
    """Has it keep an array of each side."""
    return buffer.device[3] + buffer.host[3]


CALLS = {
    "discard": lambda b: b.discard(GPU),
    "discard_content": lambda b: b.discard_content(),
    "share": lambda b: b.share(),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shown", [lambda b: b, lambda b: b.view(7, 100)], ids=["whole", "view"])
def test_what_arrays_are_in_the_way_of(buffer, call, shown):
    handle = shown(buffer)
    assert both(handle) == 2
    kept = handle.device if call == "discard" else handle.host
    part = kept[3:]
    for held in ("kept", "part"):
        with pytest.raises(unibuf.AccessConflictError):
            CALLS[call](buffer)
        if held == "kept":
            del kept
    del part
    CALLS[call](buffer)
    assert both(handle) == (0 if call == "discard_content" else 2)


@pytest.mark.parametrize("space", ["opencl:0", "opengl:0"])
def test_arrays_of_other_libraries_go_too(default_device, space):
    default_device(space)
    buffer = UnifiedBuffer(N, np.int32, hint="gpu_preferred").fill(1)
    kept = buffer.device
    buffer.sync_to_host()
    assert buffer.device is kept
    with pytest.raises(unibuf.AccessConflictError):
        buffer.discard(space)
    del kept
    buffer.discard(space)
    assert not buffer.is_at(space) and buffer[3] == 1


def test_a_pool_gives_buffers_again_whose_arrays_nobody_has(default_device):
    default_device(GPU)
    pool = unibuf.MemoryPool()
    buffer = pool.acquire(N)
    number, part = buffer.id, buffer.view(5, 10)
    both(buffer), both(part)
    pool.release(buffer)
    del part
    again = pool.acquire(N)
    assert again.id == number and not again.host.any()


def test_memory_that_is_short_comes_from_arrays_that_nobody_has(buffer):
    other = UnifiedBuffer(N, np.int32).fill(2)
    kept = buffer.device
    held = unibuf.get_accelerator(GPU).memory.held
    unibuf.limit_memory(GPU, held)
    try:
        with pytest.raises(MemoryError, match="views"):
            _ = other.device
        del kept
        assert other.device[3] == 2 and not buffer.is_at(GPU)
        assert buffer.device[3] == 1 and not other.is_at(GPU)
        unibuf.limit_memory(GPU, 0)
        assert not buffer.is_at(GPU) and buffer.to_numpy()[3] == 1
    finally:
        unibuf.limit_memory(GPU, None)


@pytest.mark.parametrize("tracking", ["auto", "off"])
def test_an_array_that_nobody_has_writes_nothing(default_device, tracking):
    default_device(GPU)
    buffer = UnifiedBuffer(N, np.int32, tracking=tracking)
    part = buffer.view(0, 100)
    buffer.host[:] = part.host[:] = 1
    with buffer.read_write(GPU) as array:
        array += 1
    assert (buffer.to_numpy() == 2).all()  # no conflict
    _ = buffer.device
    moved = buffer.statistics.bytes_moved
    _ = buffer.device
    assert buffer.state is BufferState.SYNCHRONIZED and buffer.statistics.bytes_moved == moved


def test_the_same_memory_as_long_as_nothing_is_in_its_way(buffer):
    array = buffer.host
    with buffer.write(GPU, count=1):
        pass
    assert np.shares_memory(buffer.host, array)
    with buffer.read_write(GPU) as there:
        there[:] = 5
    assert np.shares_memory(buffer.host, array) and (array == 5).all()
    address = buffer.device.ctypes.data
    buffer.host[0] = 1
    assert buffer.device.ctypes.data == address


def test_a_standing_hold_has_its_bytes_back_when_no_array_of_the_host_is_left(buffer):
    kept = buffer.host
    with buffer.bound(GPU) as hold:
        hold.array[:] = 2
        assert buffer.host[0] == 2
        hold.array[:] = 3  # its bytes again
        assert buffer[1] == 3 and buffer.view(7, 9).host[1] == 3
        array = buffer.host
        array[0] = 7
        assert hold.array[0] == 3 and buffer.host[0] == 7
        del array
        assert hold.array[0] == 7
        hold.array[1] = 8
        assert buffer.to_numpy()[1] == 8
    del kept
    number = id(buffer.host)
    assert id(buffer.host) == number  # kept for the next access again


def test_who_asks_for_arrays_holds_up_nobody(buffer):
    """Each thread needs what the others keep, and the interpreter to let go of it."""
    many = [UnifiedBuffer(N, np.int32).fill(i) for i in range(8)]
    pool = unibuf.MemoryPool()
    failures = []

    def use(first):
        try:
            for turn in range(150):
                i = (first + turn) % len(many)
                assert many[i].device[9] == i and many[i].view(5, 5).host[0] == i
                taken = pool.acquire(N)
                both(taken)
                pool.release(taken)
        except unibuf.OutOfMemoryError:
            pass  # the others have arrays of all that there is
        except BaseException as failure:
            failures.append(failure)

    unibuf.limit_memory(GPU, unibuf.get_accelerator(GPU).memory.held + 12 * N)
    threads = [threading.Thread(target=use, args=(2 * i,)) for i in range(4)]
    try:
        for each in threads:
            each.start()
        while any(each.is_alive() for each in threads):
            assert sum(len(repr(each)) for each in many) and unibuf.total_statistics()
    finally:
        for each in threads:
            each.join()
        unibuf.limit_memory(GPU, None)
    assert not failures


def test_memory_of_the_program_goes_with_the_copy_that_it_is(default_device):
    default_device(GPU)
    array = np.ones(N)
    gone = weakref.ref(array)
    buffer = unibuf.from_numpy(array)
    buffer.discard_content()
    assert buffer.device[3] == 0
    array[3] = 1
    assert buffer.device[3] == 1
    del array
    gc.collect()
    assert gone() is not None
    buffer.free()
    assert gone() is None
