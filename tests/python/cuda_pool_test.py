"""Memory of a pool for CuPy's arrays."""

import gc
import threading

import cupy
import numpy as np
import pytest
import unibuf
from conftest import as_numpy, usable
from held_stream import Driver
from unibuf import MemoryPool

N = 6000


@pytest.fixture
def pool():
    usable("cuda:0")
    result = MemoryPool()
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(result.cupy_allocator)
    yield result
    cupy.cuda.set_allocator(before)


def ones():
    array = cupy.ndarray((N,), np.float32)
    array[:] = 1
    return array


def test_arrays_of_cupy_are_in_the_pool(pool):
    array = ones()
    assert as_numpy(array).sum() == N
    assert (pool.statistics.current_bytes, pool.statistics.current_count) == (4 * N, 1)
    address = array.data.ptr
    assert address % 256 == 0
    del array
    assert (pool.statistics.current_bytes, pool.statistics.total_count) == (0, 1)
    assert ones().data.ptr == address  # used again
    assert pool.statistics.hits == 1


def test_nobody_else_has_the_memory_meanwhile(pool):
    arrays = [ones() for _ in range(5)]
    assert len({array.data.ptr for array in arrays}) == 5
    for value, array in enumerate(arrays):
        array[:] = value
    assert [as_numpy(array)[N - 1] for array in arrays] == [0, 1, 2, 3, 4]


def test_a_part_keeps_the_memory(pool):
    array = ones()
    part = array.data
    del array
    gc.collect()
    assert pool.statistics.current_count == 1
    del part
    assert pool.statistics.current_count == 0


def test_memory_outlives_the_pool(pool):
    pointer = MemoryPool().cupy_allocator(4 * N)
    array = cupy.ndarray((N,), np.float32, memptr=pointer)
    del pointer
    gc.collect()
    array[:] = 2
    assert as_numpy(array).sum() == 2 * N


def test_nothing_is_copied_to_the_host(pool):
    before = unibuf.get_accelerator("host").memory.held
    array = ones()
    assert unibuf.get_accelerator("host").memory.held == before
    assert unibuf.get_accelerator("cuda:0").memory.held >= array.nbytes


@pytest.mark.parametrize("nbytes", [0, 1, 255, 1 << 20])
def test_sizes(pool, nbytes):
    pointer = pool.cupy_allocator(nbytes)
    assert isinstance(pointer, cupy.cuda.MemoryPointer)
    assert (pointer.mem.device_id, pointer.ptr % 256) == (0, 0)
    assert pool.statistics.current_bytes == nbytes


def test_memory_that_is_not_there_is_a_memory_error(pool):
    unibuf.limit_memory("cuda:0", 1000)
    try:
        with pytest.raises(MemoryError, match="cuda:0"):
            pool.cupy_allocator(4 * N)
    finally:
        unibuf.limit_memory("cuda:0", None)
    assert pool.statistics.current_count == 0
    with pytest.raises(unibuf.InvalidArgumentError, match="-1 was given"):
        pool.cupy_allocator(-1)


@pytest.fixture
def driver():
    made = Driver()
    yield made
    made.close()


def test_who_has_the_memory_next_waits_for_the_work_that_is_queued(pool, driver):
    with cupy.cuda.Stream.from_external(driver):
        first = ones()
    driver.set_later(first.data.ptr, 8, N)
    address = first.data.ptr
    del first  # the work on it has not even begun
    threading.Timer(0.05, driver.opened.set).start()
    buffer = pool.acquire((N,), hint="gpu_preferred", device="cuda:0", uninitialized=True)
    with buffer.write("cuda:0") as array:
        assert array.data.ptr == address
        array[:] = 3
        del array
    assert not driver.ran_late
    assert (buffer.host == 3).all()
