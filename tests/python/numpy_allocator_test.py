"""NumPy arrays in memory of a pool, by the handlers of NEP 49."""

import asyncio
import contextvars
import ctypes
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest
import unibuf
from unibuf import MemoryPool

try:
    from numpy._core.multiarray import get_handler_name
except ImportError:  # before NumPy 2
    from numpy.core.multiarray import get_handler_name


@pytest.fixture
def pool():
    return MemoryPool()


def test_arrays_of_the_block_are_in_the_pool(pool):
    with pool.numpy_allocator():
        inside = np.empty(1000)
        assert get_handler_name(inside) == get_handler_name() == "unibuf"
    outside = np.empty(1000)
    assert get_handler_name(outside) == get_handler_name() == "default_allocator"
    assert (pool.statistics.current_bytes, pool.statistics.current_count) == (8000, 1)
    address = inside.ctypes.data
    del inside
    assert (pool.statistics.current_bytes, pool.statistics.total_bytes) == (0, 8000)
    with pool.numpy_allocator():
        assert np.empty(1000).ctypes.data == address  # used again
    assert pool.statistics.hits == 1


def test_an_array_that_gets_no_memory_leaves_the_pool_as_it_was(pool):
    pool.limit(1 << 20)
    with pool.numpy_allocator():
        np.ones(100_000)
        for _ in range(3):
            with pytest.raises(MemoryError):
                np.empty(1 << 50, np.uint8)
    assert 800_000 <= pool.statistics.held_bytes <= 1 << 20
    pool.limit(None)
    with pool.numpy_allocator(), pytest.raises(MemoryError):
        np.empty(1 << 50, np.uint8)
    assert pool.statistics.held_bytes <= 1 << 20


def test_arrays_compute_as_ever(pool):
    with pool.numpy_allocator():
        content = np.arange(10000.0).reshape(100, 100)
        total = (content @ content.T).sum(axis=0)
        parts = np.concatenate([np.sort(total), total[::-2], np.zeros(3)])
        copied = np.fromiter((float(value) for value in parts), float)  # grows by realloc
    expected = np.arange(10000.0).reshape(100, 100)
    expected = (expected @ expected.T).sum(axis=0)
    assert np.array_equal(copied, np.concatenate([np.sort(expected), expected[::-2], np.zeros(3)]))
    assert get_handler_name(copied) == "unibuf"


@pytest.mark.parametrize("size", [1, 100, 5000, 1 << 20])
def test_zeros_are_zeros_whatever_was_there(pool, size):
    with pool.numpy_allocator():
        for _ in range(3):
            for make in (np.zeros, np.empty):
                array = make(size, np.uint8)
                assert make is np.empty or not array.any()
                assert array.flags.aligned and array.ctypes.data % 16 == 0
                array[:] = 7


def test_without_elements(pool):
    with pool.numpy_allocator():
        arrays = [np.empty(0), np.zeros((3, 0)), np.empty((), "V0")]
        assert [array.size for array in arrays] == [0, 0, 1]


def test_a_resize_keeps_the_content(pool):
    with pool.numpy_allocator():
        array = np.arange(10)
    for size in (11, 1000, 100_000, 7):  # in and out of size classes, outside of the block
        expected = np.arange(10)
        kept = min(size, 10)
        array.resize(size, refcheck=False)
        assert np.array_equal(array[:kept], expected[:kept]) and not array[10:].any()
        assert pool.statistics.current_bytes == array.nbytes


def test_arrays_outlive_the_pool():
    pool = MemoryPool()
    with pool.numpy_allocator():
        array = np.full(5000, 3.0)
        view = array[10:20]
    del pool, array
    gc.collect()
    assert view.sum() == 30


def test_blocks_lie_within_each_other(pool):
    other = MemoryPool()
    with pool.numpy_allocator():
        with other.numpy_allocator():
            inner = np.empty(100)
        outer = np.empty(200)
    assert other.statistics.current_bytes == inner.nbytes
    assert pool.statistics.current_bytes == outer.nbytes


def test_an_error_ends_the_block(pool):
    with pytest.raises(KeyError), pool.numpy_allocator():
        raise KeyError
    assert get_handler_name() == "default_allocator"


def test_other_threads_and_contexts_have_their_own(pool):
    names = {}

    def look(name):
        names[name] = get_handler_name(np.empty(100))

    empty = contextvars.Context()
    with pool.numpy_allocator():
        array = np.empty(100)
        thread = threading.Thread(target=empty.run, args=(look, "thread"))
        thread.start()
        thread.join()
        empty.run(look, "context")
    assert names == {"thread": "default_allocator", "context": "default_allocator"}
    thread = threading.Thread(target=array.__class__.sum, args=(array,))  # the last reference ends on another thread
    del array
    thread.start()
    thread.join()
    del thread
    assert pool.statistics.current_count == 0


def test_tasks_have_their_own(pool):
    async def inside(ready, go):
        with pool.numpy_allocator():
            ready.set()
            await go.wait()
            return get_handler_name(np.empty(10))

    async def main():
        ready, go = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(inside(ready, go))
        await ready.wait()
        name = get_handler_name(np.empty(10))
        go.set()
        return name, await task

    assert asyncio.run(main()) == ("default_allocator", "unibuf")


def test_many_threads_at_once(pool):
    wrong = []

    def work(seed):
        with pool.numpy_allocator():
            kept = []
            for step in range(200):
                array = np.full(1 + (seed * 131 + step * 37) % 5000, seed)
                kept.append(array + 0)
                if len(kept) > 8:
                    wrong.extend(each for each in kept if (each != seed).any())
                    del kept[:5]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert pool.statistics.current_count == 0


def test_memory_that_is_not_there_is_a_memory_error(pool):
    unibuf.limit_memory("host", 1 << 20)
    try:
        with pool.numpy_allocator():
            small = np.ones(100)
            with pytest.raises(MemoryError):
                np.ones(1 << 20)
            with pytest.raises(MemoryError):
                np.zeros(1 << 60, np.uint8)
            with pytest.raises(MemoryError):
                small.resize(1 << 20, refcheck=False)
    finally:
        unibuf.limit_memory("host", None)
    assert small.sum() == 100 and pool.statistics.current_bytes == 800


def test_a_handler_is_checked():
    with pytest.raises(TypeError, match="capsule of NumPy's; 5 was given"):
        unibuf._native.set_numpy_handler(5)


class Handler(ctypes.Structure):
    """PyDataMem_Handler, whose calls are made without the interpreter's lock."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", ctypes.c_void_p),
        ("malloc", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("calloc", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)),
        ("realloc", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
        ("free", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)),
    ]


@pytest.fixture
def handler(pool):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = pool._pool.numpy_handler()
    found = Handler.from_address(pointer(capsule, b"mem_handler"))
    found.capsule = capsule
    assert (found.name, found.version) == (b"unibuf", 1)
    return found


def test_calls_without_the_interpreters_lock(pool, handler):
    of = handler.context
    block = handler.calloc(of, 10, 100)
    assert ctypes.string_at(block, 1000) == bytes(1000)
    ctypes.memset(block, 5, 1000)
    block = handler.realloc(of, block, 100_000)
    assert ctypes.string_at(block, 1000) == b"\5" * 1000
    block = handler.realloc(of, block, 10)
    assert ctypes.string_at(block, 10) == b"\5" * 10
    assert pool.statistics.current_bytes == 10
    handler.free(of, block, 12345)  # what is said of the size does not count
    assert pool.statistics.current_count == 0


def test_sizes_of_nothing_and_of_too_much(pool, handler):
    of = handler.context
    blocks = [handler.malloc(of, 0), handler.malloc(of, 0), handler.calloc(of, 0, 8), handler.realloc(of, None, 0)]
    assert all(blocks) and len(set(blocks)) == 4
    assert handler.realloc(of, blocks[0], (1 << 62)) is None  # the block is there still
    assert handler.calloc(of, 1 << 40, 1 << 40) is None
    for block in [*blocks, None]:
        handler.free(of, block, 0)
    assert pool.statistics.current_count == 0


AT_EXIT = """
import threading, time
import numpy as np
from unibuf import MemoryPool
pool = MemoryPool()
with pool.numpy_allocator():
    kept = np.ones(5000)          # goes with the module
    cycle = [np.ones(5000)]
    cycle.append(cycle)
    np.kept_for_ever = np.ones(10)
def work():
    with pool.numpy_allocator():
        while True:
            np.ones(3000).sum()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
class Late:
    def __del__(self):            # while the interpreter ends
        with self.pool.numpy_allocator():
            self.np.zeros(100).sum()
late = Late()
late.pool, late.np = pool, np
time.sleep(0.05)
"""


def test_arrays_that_are_there_when_the_interpreter_ends():
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
