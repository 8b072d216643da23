"""Buffers of pools: what is in use of them, by the names of rmm.statistics."""

import unibuf
from unibuf import MemoryPool


def use_of(pool):
    found = pool.statistics
    return (
        (found.current_bytes, found.current_count),
        (found.peak_bytes, found.peak_count),
        (found.total_bytes, found.total_count),
    )


def test_what_is_in_use_is_counted():
    pool = MemoryPool()
    assert use_of(pool) == ((0, 0), (0, 0), (0, 0))
    first = pool.acquire(1000)
    second = pool.acquire((2, 3), "u1")
    assert use_of(pool) == ((4006, 2), (4006, 2), (4006, 2))
    pool.release(first)
    assert use_of(pool) == ((6, 1), (4006, 2), (4006, 2))
    with pool.scoped((999,)):
        assert use_of(pool) == ((4002, 2), (4006, 2), (8002, 3))
    del second  # it ends, and is not released
    assert use_of(pool) == ((0, 0), (4006, 2), (8002, 3))


def test_what_is_held_is_not_in_use():
    pool = MemoryPool()
    pool.reserve(3, 1000)
    found = pool.statistics
    assert (found.held, found.current_count, found.peak_count, found.total_count) == (3, 0, 0, 0)
    assert found.peak_memory >= found.held_bytes >= 3000
    pool.clear()
    assert pool.statistics.peak_memory == found.peak_memory


def test_the_shared_pool_counts_too():
    pool = unibuf.get_memory_pool()
    before = pool.statistics
    with pool.scoped((100,)):
        assert pool.statistics.current_bytes == before.current_bytes + 400
    assert pool.statistics.total_count == before.total_count + 1
