"""Many threads, event loops and Ctrl-C: each call does all of it or says why not, and nobody waits for nobody."""

import asyncio
import copy
import gc
import os
import random
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import unibuf
from conftest import FIRST_SEED, as_numpy, blocked, usable
from unibuf import BufferState, UnifiedBuffer

N = 5000


@pytest.fixture
def device(device):
    if device.startswith("opencl") and not getattr(sys, "_is_gil_enabled", lambda: True)():
        pytest.skip("PyOpenCL crashes without the interpreter's lock where threads drop objects of one cl_mem")
    return device


def in_threads(*calls):
    """Raises what one of them raises."""
    with ThreadPoolExecutor(len(calls)) as threads:
        for each in [threads.submit(call) for call in calls]:
            each.result()


def test_many_threads_one_buffer(device):
    buffer = UnifiedBuffer(N, np.int64)

    def add(space):
        for _ in range(100):
            with buffer.read_write(space) as array:
                if isinstance(array, np.ndarray):
                    array += 1
                else:
                    array.set(array.get() + 1)

    in_threads(*[lambda space=space: add(space) for space in ("host", device, "host", device)],
               *[lambda: [(buffer.host, buffer.device, buffer.state, buffer[7]) for _ in range(100)]] * 2)  # fmt: skip
    assert (buffer.host == 400).all()


def test_many_threads_many_buffers(device):
    pool = unibuf.MemoryPool()

    def work(seed):
        for i in range(60):
            buffer = pool.acquire(N) if i % 2 else UnifiedBuffer(N)
            value = seed * 1000 + i
            buffer.host[:] = value
            assert as_numpy(buffer.device)[i] == value
            assert (buffer.view(10, 5).fill(-1).to_numpy() == -1).all() and buffer[20] == value
            if i % 3 == 0:
                buffer.host[3] = 1
            if i % 2:
                pool.release(buffer)

    in_threads(*[lambda seed=seed: work(seed) for seed in range(6)])


def test_threads_free_what_others_use(device):
    buffer = UnifiedBuffer(N)
    done = threading.Event()

    def use():
        while not done.is_set():
            with buffer.read_write("host") as array:
                array += 1
                assert array.sum() is not None
            _ = as_numpy(buffer.device), buffer.host[3], buffer.to_numpy()

    def free():
        for _ in range(200):
            buffer.free()
            time.sleep(0)
        done.set()

    in_threads(use, use, free)


def test_threads_read_arrays_of_a_device_at_once(device):
    buffer = UnifiedBuffer(N).fill(7)
    in_threads(*[lambda: [as_numpy(buffer.device)[i] for i in range(1000)]] * 3)


class Anything:
    """What one thread does with buffers that others use, free and release at the same time, and with arrays that it
    has kept: errors are the package's own, and the memory of what is shown stays."""

    def __init__(self, shared, pool, device, seed):
        self.shared, self.pool, self.device, self.random, self.kept = shared, pool, device, random.Random(seed), []

    def run(self, steps):
        acts = [getattr(self, name) for name in dir(self) if name.startswith("do_")]
        for _ in range(steps):
            i = self.random.randrange(len(self.shared))
            buffer = self.shared[i]
            try:
                part = buffer.view(self.random.randrange(buffer.shape[0])) if self.random.random() < 0.4 else buffer
                self.random.choice(acts)(part, i)
            except ValueError as failure:  # InvalidArgumentError where it was released meanwhile
                if "released to its pool" in str(failure):
                    self.shared[i] = UnifiedBuffer(buffer.shape)
                elif "read-only" not in str(failure):
                    assert isinstance(failure, unibuf.UnibufError), failure
            except unibuf.UnibufError:
                pass
            del self.kept[: len(self.kept) - 20]

    def space(self):
        return self.random.choice(["host", self.device, "debug:0"])

    def keep(self, array):
        if self.random.random() < 0.3:
            self.kept.append(array)

    def do_block(self, of, i):
        take = self.random.choice([of.read, of.write, of.read_write])
        with take(self.space(), timeout=self.random.choice([None, 0.01, 0])) as array:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[:] = i
                self.keep(array[:])
            if self.random.random() < 0.1:
                of.free()
            self.keep(array)

    def do_arrays(self, of, i):
        for array in (of.host, of.device):
            if isinstance(array, np.ndarray):
                array[0] = i
            self.keep(array)

    def do_write_late(self, of, i):
        for array in self.kept:
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[-1] = array[0] + 1

    def do_copies(self, of, i):
        of.copy_from(np.ones(of.shape))
        copy.copy(of.fill(i)).to_numpy()

    def do_marks(self, of, i):
        of.mark_host_dirty()
        of.mark_device_dirty(0, 1)
        of.prefetch(self.space())
        of.synchronize()

    def do_drop(self, of, i):
        self.random.choice([of.free, of.discard_content, lambda: of.discard(self.space())])()

    def do_look(self, of, i):
        assert (of.state, of.statistics, of.pinned, of.is_at("host"), repr(of)) is not None

    def do_another(self, of, i):
        self.pool.release(self.shared[i])
        self.shared[i] = self.pool.acquire(self.random.choice([50, N, 70000]))


@pytest.mark.filterwarnings("ignore:arrays of a `with` block")  # what a device had newer content of
def test_anything_at_the_same_time(device):
    gc.collect()
    memory = [unibuf.get_accelerator(space).memory.held for space in ("host", "debug:0")]
    pool = unibuf.MemoryPool()
    shared = [pool.acquire(n) for n in (50, N, 70000)]
    unibuf.limit_memory("debug:0", memory[1] + (1 << 20))
    unibuf.set_default_timeout(0.01)  # who finds no room waits for others, here in vain: arrays that are kept have it
    seeds = range(FIRST_SEED, FIRST_SEED + 4)
    print(f"UNIBUF_TEST_SEED={FIRST_SEED // 1000}")  # pytest shows it where the test fails
    try:
        in_threads(*[lambda seed=seed: Anything(shared, pool, device, seed).run(1500) for seed in seeds])
    finally:
        unibuf.limit_memory("debug:0", None)
        unibuf.set_default_timeout(None)
    shared.clear()
    pool.clear()
    gc.collect()
    assert [unibuf.get_accelerator(space).memory.held for space in ("host", "debug:0")] == memory


def test_operators_on_two_buffers_wait_in_no_circle():
    one, other = UnifiedBuffer(N).fill(1), UnifiedBuffer(N).fill(1)

    def add(to, what):
        for _ in range(500):
            to += what
            to.fill(1)

    in_threads(lambda: add(one, other), lambda: add(other, one), lambda: [one + other for _ in range(500)])


def test_views_of_a_device_are_of_one_moment():
    """free() makes a buffer of its own of a rectangle: neither its memory goes with the other's strides, nor back."""
    space = usable("opencl:0")
    whole = UnifiedBuffer((64, 8), np.int32)
    for _ in range(100):
        buffer = whole.view[:, 2:4]
        started = threading.Barrier(2)
        thread = threading.Thread(target=lambda of=buffer, when=started: (when.wait(), of.free()))
        thread.start()
        started.wait()
        view = buffer.opencl(int(space[-1]))
        thread.join()
        array = view.pyopencl()
        assert (array.strides == (8, 4)) == (array.base_data.size < whole.nbytes)


def test_a_thread_does_not_wait_for_itself():
    buffer, other = UnifiedBuffer(10, hint="gpu_preferred").fill(1), UnifiedBuffer(10).fill(1)
    with buffer.write("host"):
        assert other.host[0] == 1  # looks who is asking
        with pytest.raises(unibuf.AccessConflictError, match="the same thread"), buffer.read("debug:0", timeout=60):
            pass


def test_looks_while_others_release():
    pool, done = unibuf.MemoryPool(), threading.Event()
    shown = [pool.acquire(N)]

    def release():
        for _ in range(8000):
            pool.release(shown[0])
            shown[0] = pool.acquire(N)
        done.set()

    def look():
        while not done.is_set():
            try:
                assert isinstance(shown[0].is_at("host"), bool)
            except ValueError as failure:
                assert "released to its pool" in str(failure)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # who lets go of the interpreter's lock gets it back late
    try:
        in_threads(release, look, look)
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("wait", ["host", "device", "to_numpy", "mark_host_dirty", "discard_content", "block"])
def test_who_waits_lets_other_threads_run(wait, device):
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer)
    threading.Timer(0.05, done.set).start()  # a Python thread: it needs the interpreter
    if wait == "block":
        with buffer.read("host"):
            pass
    elif callable(found := getattr(buffer, wait)):
        found()
    thread.join()
    assert buffer[3] == (0 if wait == "discard_content" else 1)


WAITS = {
    "block": lambda buffer: buffer.read("host").__enter__(),
    "host": lambda buffer: buffer.host,
    "device": lambda buffer: buffer.device,
    "fill": lambda buffer: buffer.fill(2),
    "copy_from": lambda buffer: buffer.copy_from(np.zeros(N, np.float32)),
    "to_numpy": lambda buffer: buffer.to_numpy(),
    "mark_host_dirty": lambda buffer: buffer.mark_host_dirty(),
    "discard_content": lambda buffer: buffer.discard_content(),
    "bound": lambda buffer: buffer.bound("debug:0").__enter__(),
    "memoryview": lambda buffer: memoryview(buffer),
    "asarray": lambda buffer: np.asarray(buffer),
    "array": lambda buffer: np.array([buffer, buffer]),
    "assignment": lambda buffer: np.zeros(N).__setitem__(slice(None), buffer),
}


@pytest.mark.parametrize("wait", WAITS)
def test_ctrl_c_ends_a_wait(wait, device):
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer, 20)
    try:
        with pytest.raises(KeyboardInterrupt):
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            WAITS[wait](buffer)
    finally:
        done.set()
        thread.join()
    assert (buffer.to_numpy() == 1).all()
    with buffer.write("host", timeout=0):
        pass


def test_handlers_of_signals_run_while_a_call_waits():
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer)
    before = signal.signal(signal.SIGUSR1, lambda *_: done.set())
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
    try:
        assert (buffer.host == 1).all()  # the handler lets it go on
    finally:
        signal.signal(signal.SIGUSR1, before)
        thread.join()


@pytest.mark.parametrize("wait", WAITS)
def test_the_default_timeout_ends_waits_that_name_none(wait, device):
    assert unibuf.default_timeout() is None
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer)
    unibuf.set_default_timeout(0.01)
    try:
        assert unibuf.default_timeout() == 0.01
        with pytest.raises(unibuf.LeaseTimeoutError):
            WAITS[wait](buffer)
    finally:
        unibuf.set_default_timeout(None)
        done.set()
        thread.join()
    assert (buffer.to_numpy() == 1).all()


# Event loops


def test_the_event_loop_goes_on(device):
    buffer = UnifiedBuffer(N)

    async def main():
        thread, done = blocked(buffer)
        waits = [asyncio.create_task(call()) for call in (buffer.ensure_on_host, buffer.ensure_on_device)]
        for _ in range(5):
            await asyncio.sleep(0.01)
            assert not any(wait.done() for wait in waits)
        done.set()
        await asyncio.gather(*waits)
        thread.join()
        assert buffer.state is BufferState.SYNCHRONIZED

    asyncio.run(main())
    assert (as_numpy(buffer.device) == 1).all()


def test_who_ends_the_waits_may_need_a_thread_of_the_executor(device):
    buffer = UnifiedBuffer(N)

    async def main():
        thread, done = blocked(buffer)
        waits = [asyncio.create_task(buffer.ensure_on_device()) for _ in range(40)]
        await asyncio.sleep(0.05)
        await asyncio.wait_for(asyncio.to_thread(done.set), 30)
        await asyncio.gather(*waits)
        thread.join()

    asyncio.run(main())
    assert (as_numpy(buffer.device) == 1).all()


def test_a_wait_raises_what_the_call_raises():
    buffer = UnifiedBuffer(1 << 60, np.uint8)
    with pytest.raises(unibuf.OutOfMemoryError):
        asyncio.run(buffer.ensure_on_host())


def test_a_wait_that_is_cancelled_ends(device):
    buffer, other = UnifiedBuffer(N), UnifiedBuffer(N)
    thread, done = blocked(buffer, 20)

    async def main():
        for call in (buffer.ensure_on_host, buffer.ensure_on_device):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(call(), 0.05)
        waits = [asyncio.create_task(buffer.ensure_on_device()) for _ in range(40)]  # more than there are threads
        await asyncio.sleep(0.05)
        for wait in waits:
            wait.cancel()
        await other.ensure_on_device()
        assert await asyncio.to_thread(int) == 0
        results = await asyncio.gather(*waits, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in results)

    try:
        asyncio.run(main())
        assert thread.is_alive()  # none has waited for the block
    finally:
        done.set()
        thread.join()
    asyncio.run(buffer.ensure_on_device())
    assert (as_numpy(buffer.device) == 1).all()


def test_ctrl_c_ends_an_event_loop_that_waits():
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer, 20)
    try:
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(buffer.ensure_on_device())
        assert thread.is_alive()
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("what", ["write", "read_write"])
def test_what_ones_own_block_excludes_is_refused_at_once(what, device):
    buffer = UnifiedBuffer(N).fill(1)

    async def main():
        with getattr(buffer, what)("host"):
            for ensure in (buffer.ensure_on_device, buffer.ensure_on_host):
                with pytest.raises(unibuf.AccessConflictError, match="the same thread holds"):
                    await ensure()
        if device != "host":  # there it is the host's array, which may be written
            with buffer.read("host"):
                await buffer.ensure_on_device()

    asyncio.run(main())
    assert (as_numpy(buffer.device) == 1).all()


def test_what_is_newest_at_the_device_is_ensured_there_without_a_copy(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(N)
    with buffer.write("debug:0") as array:
        array[:] = 1
    asyncio.run(buffer.ensure_on_device())
    assert buffer.statistics.transfers == () and buffer.state is BufferState.DEVICE_DIRTY


def test_errors_reach_who_awaits(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(N).fill(1)
    unibuf.limit_memory("debug:0", 0)
    try:
        with pytest.raises(MemoryError):
            asyncio.run(buffer.ensure_on_device())
    finally:
        unibuf.limit_memory("debug:0", None)
    assert (buffer.host == 1).all()
