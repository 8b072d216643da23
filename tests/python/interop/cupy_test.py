"""CuPy, on a CUDA device."""

import subprocess
import sys

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

cupy = pytest.importorskip("cupy")

N = 64 * 1024


def test_the_device_array_is_cupys(cuda):
    unibuf.set_default_device(cuda)
    buffer = UnifiedBuffer((N,)).copy_from(np.arange(N, dtype=np.float32))
    array = buffer.device
    assert isinstance(array, cupy.ndarray) and array is buffer.device
    array += 1
    buffer.mark_device_dirty()
    assert np.array_equal(buffer.host, np.arange(N) + 1)


def test_a_stream_of_cupys_orders_the_work(cuda):
    buffer = UnifiedBuffer((N,)).fill(1)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream, buffer.read_write(cuda, stream=stream) as array:
        for _ in range(100):
            array += 1
    assert buffer.host.sum() == 101 * N


def test_arrays_of_cupy_are_copied_on_the_card(cuda):
    source = cupy.arange(N, dtype=cupy.float32)
    buffer = UnifiedBuffer((N,)).copy_from(source)
    assert str(buffer.state) == "DEVICE_ONLY" or str(buffer.state) == "DEVICE_DIRTY"
    assert buffer.statistics.transfers_made == 0
    assert np.array_equal(buffer.host, np.arange(N))


def test_arrays_of_cupy_are_in_a_pool(cuda):
    pool = unibuf.MemoryPool()
    before = cupy.cuda.get_allocator()
    cupy.cuda.set_allocator(pool.cupy_allocator)
    try:
        array = cupy.arange(N, dtype=cupy.float32)
        total = float((array * 2).sum())
    finally:
        cupy.cuda.set_allocator(before)
    assert total == N * (N - 1)
    assert pool.statistics.current_bytes >= array.nbytes
    del array
    assert pool.statistics.current_count == 0


def test_cupy_works_on_memory_that_is_shared_with_the_card(cuda):
    unibuf.set_default_device(cuda)
    buffer = UnifiedBuffer((N,), hint="cpu_preferred").fill(1)
    array = buffer.device
    array += 1
    assert float(array.get().sum()) == 2 * N
    buffer.mark_device_dirty()
    assert buffer.host.sum() == 2 * N
    assert buffer.statistics.transfers_made == 0


FORK = """
import os, warnings, numpy as np, unibuf
warnings.filterwarnings("ignore", "This process")  # has threads, and forks
unibuf.set_default_device("cuda:0")
buffer = unibuf.UnifiedBuffer(1 << 20, pinned=True).copy_from(np.arange(1 << 20, dtype=np.float32))
buffer.sync_to_device()
child = os.fork()
if child == 0:
    del buffer
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
buffer.host[7] = -1
buffer.sync_to_device()
assert buffer.device[7] == -1 and buffer.device[8] == 8
"""


def test_a_child_that_drops_a_pinned_buffer_leaves_the_parents(cuda):
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
