"""What lives how long: references, memory, arrays that outlast their buffers, forks, the end."""

import gc
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
import unibuf
from conftest import SPACES, as_numpy, usable
from unibuf import BufferState, UnifiedBuffer

N = 5000


def held(space="host"):
    gc.collect()
    return unibuf.get_accelerator(space).memory.held


# References and memory

USES = {
    "host": lambda b: b.host,
    "device": lambda b: b.device,
    "state": lambda b: (b.state, b.shape, b.dtype, b.size, b.nbytes, repr(b), b.statistics, b.pinned),
    "block": lambda b: b.read("host").__enter__(),
    "blocks": lambda b: [leave(b.read_write(space)) for space in ("host", None)],
    "view": lambda b: b.view(1, 2).host,
    "free": lambda b: b.fill(1).free(),
    "marks": lambda b: (b.allocate(), b.mark_host_dirty(), b.mark_device_dirty(0, 3), b.synchronize()),
    "copies": lambda b: (b.copy_from(b), b.copy_from(np.ones(N)), b.to_numpy(), np.array(b), list(b.view(0, 3))),
    "errors": lambda b: [
        pytest.raises(unibuf.UnibufError, call)
        for call in (lambda: b.view(-1), lambda: b.read("x"), lambda: b.copy_from(3))
    ],
    "pool": lambda b: [pool.release(pool.acquire((N,), b.dtype)) for pool in (unibuf.MemoryPool(),)],
    "dlpack": lambda b: np.from_dlpack(b),
}  # fmt: skip


def leave(block):
    with block as array:
        return array


@pytest.mark.parametrize("use", USES)
def test_references_and_memory_stay_as_they_were(device, use):
    dtype, shape = np.dtype([("a", "f4")] if use in ("host", "view", "block") else "f4"), tuple([N])
    spaces = {"host", device}

    def counts():
        gc.collect()
        return [sys.getrefcount(each) for each in (dtype, shape, UnifiedBuffer, N, BufferState.HOST_DIRTY)]

    def once():
        USES[use](UnifiedBuffer(shape, dtype))

    for _ in range(3):
        once()
    before, memory = counts(), {space: held(space) for space in spaces}
    for _ in range(50):
        once()
    assert all(abs(now - then) < 10 for now, then in zip(counts(), before, strict=True))
    assert {space: held(space) for space in spaces} == memory


def test_arrays_outlive_their_buffer(device):
    memory = held()
    buffer = UnifiedBuffer(N).fill(3)
    part, shown = buffer.view(10, 20).host[5:], buffer.device
    with buffer.read() as leased:
        pass
    gone = weakref.ref(buffer)
    del buffer
    assert gone() is None
    others = [UnifiedBuffer(N).fill(9) for _ in range(4)]
    assert all((as_numpy(each) == 3).all() for each in (part, shown, leased))
    part[:] = 4
    assert all((each.host == 9).all() for each in others)
    del part, shown, leased, others
    assert held() == memory


def test_arrays_outlive_free_and_blocks(device):
    buffer = UnifiedBuffer(N).fill(3)
    array, shown = buffer.host, buffer.device
    with buffer.read_write("host") as left:
        part = left[3:]
        left += 1
    buffer.free()
    others = [UnifiedBuffer(N).fill(9).allocate() for _ in range(4)]
    assert (left == 4).all() and (part == 4).all() and not buffer.host.any()
    assert (array == 4).all() and (as_numpy(shown) == (4 if array is shown else as_numpy(shown))).all()
    part[:] = 5
    assert (device == "host" or not as_numpy(buffer.device).any()) and (others[0].host == 9).all()
    with buffer.read() as left:
        buffer.free()
    assert not as_numpy(left).any() and not buffer.is_allocated


@pytest.mark.parametrize("what", ["host", "view", "block"])
def test_a_pool_gives_nobody_a_buffer_whose_arrays_are_held(what, device):
    pool = unibuf.MemoryPool()
    buffer = pool.acquire(N)
    number = buffer.id
    if what == "block":
        with buffer.write("host") as array:
            kept = array[:]
    else:
        kept = buffer.host if what == "host" else buffer.view(5, 10).host[1:3]
    kept[:] = 7
    pool.release(buffer)
    with pytest.raises(ValueError, match="released to its pool"):
        _ = buffer.host
    other = pool.acquire(N)
    assert other.id != number and not other.host.any()
    kept[:] = 8
    assert not other.host.any() and (kept == 8).all()
    pool.release(other)


def test_idle_arrays_keep_no_memory_from_others(default_device):
    default_device("debug:0")
    many = [UnifiedBuffer(1 << 16).fill(i) for i in range(40)]
    parts = [each.view(100, 5) for each in many]
    unibuf.limit_memory("debug:0", held("debug:0") + (1 << 20))
    begin = time.monotonic()
    try:
        for _ in range(3):
            for i, (each, part) in enumerate(zip(many, parts, strict=True)):
                assert each.device[7] == i and part.device[3] == i
    finally:
        unibuf.limit_memory("debug:0", None)
    assert sum(each.statistics.evictions for each in many) > 40
    assert time.monotonic() - begin < 30, "each of them waited for memory that nobody used"


# Objects


def test_weak_references_may_take_the_buffer_along(default_device):
    default_device("debug:0")
    memory = held("debug:0")
    buffers = {i: UnifiedBuffer(N).fill(i) for i in range(8)}
    gone = []
    watched = []
    for i in range(8):
        root = buffers[i].device.base
        watched.append(weakref.ref(root, lambda _, i=i: gone.append(buffers.pop(i).id)))
        del root
    unibuf.limit_memory("debug:0", 0)  # asks for all of them
    unibuf.limit_memory("debug:0", None)
    assert len(set(gone)) == 8 and not buffers and held("debug:0") == memory


def test_cycles_are_collected():
    class Mine(UnifiedBuffer):
        pass

    memory = held()
    for _ in range(3):
        buffer = Mine(N)
        buffer.me, buffer.array, buffer.block = buffer, buffer.host, buffer.read("host")
        gone = weakref.ref(buffer)
        del buffer
        gc.collect()
        assert gone() is None
    assert held() == memory


def test_arrays_that_end_other_buffers_when_they_go(default_device):
    """What a weak reference calls may end those whose arrays are asked for next."""
    default_device("debug:0")
    others = {}

    def drop(index):
        others.pop(index, None)

    kept = []
    for index in range(20):
        buffer = others[index] = UnifiedBuffer(N).fill(1)
        kept.append(weakref.ref(buffer.device, lambda _, index=index: drop((index + 1) % 20)))
    del buffer
    unibuf.limit_memory("debug:0", 0)  # which asks for all of them
    try:
        with pytest.raises(MemoryError):
            _ = UnifiedBuffer(N).fill(1).device
    finally:
        unibuf.limit_memory("debug:0", None)
    assert all(each() is None for each in kept) and not held("debug:0")


# Processes


def run(program, device, **options):
    """In a process of its own, which has to end well and quietly."""
    usable(device)
    setup = "import warnings; warnings.filterwarnings('ignore', 'This process')  # is multi-threaded, and forks\n"
    setup += "import numpy as np, os, sys, threading, unibuf\nfrom unibuf import UnifiedBuffer\n"
    setup += f"unibuf.set_default_device({device!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + program], capture_output=True, text=True, timeout=60, **options
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


ENDS = {
    "all alive": """
b = UnifiedBuffer(5000).fill(1); a = b.host; d = b.device; v = b.view(0, 5).host
lease = b.read(); held = lease.__enter__()
pool = unibuf.MemoryPool(); p = pool.acquire(5000); q = p.host; pool.release(p)
shared = unibuf.get_memory_pool().acquire(3).host
class Mine(UnifiedBuffer):
    def __del__(self): self.to_numpy()
m = Mine(5000).fill(1); m.me = m; m.array = m.device; sys.m = m; n = Mine(5000)
unibuf.registry.add("x", UnifiedBuffer(5000).fill(1), keep=True); r = unibuf.registry["x"].device
c = UnifiedBuffer(5000); e = np.from_dlpack(c); f = c.__dlpack__(); g = memoryview(c.host)
import atexit
atexit.register(lambda: c.fill(2).to_numpy())
""",
    "a thread that waits": """
b = UnifiedBuffer(5000); w = b.write("host"); w.__enter__(); begun = threading.Event()
threading.Thread(target=lambda: (begun.set(), b.host), daemon=True).start()
begun.wait(); import time; time.sleep(0.1)
""",
    "inside a block": "b = UnifiedBuffer(5000)\nwith b.write() as a, b.view(0, 0).read(): sys.exit(0)",
}  # fmt: skip


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("end", ENDS)
def test_the_end_is_quiet(end, space):
    run(ENDS[end], space)


@pytest.mark.parametrize("space", SPACES)
def test_after_a_fork_the_child_reads_what_the_host_had(space):
    found = run("""
b = UnifiedBuffer(5000).fill(3); b.device; a = b.host; a[7] = 4
only_read = UnifiedBuffer(5000).fill(6)
with only_read.read(): pass
c = UnifiedBuffer(5000); c.device; c.mark_device_dirty()
child = os.fork()
if child == 0:
    assert b.host[7] == 4 and b.to_numpy()[8] == 3 and a[9] == 3
    assert only_read.host[7] == 6  # the device has only read it, also where it uses the host's memory
    of_the_parent = unibuf.default_device() not in ("host", "debug:0")  # these two are the host's memory
    for other in (lambda: c.host, lambda: b.device, lambda: b.sync_to_device(), lambda: b.read().__enter__(),
                  lambda: UnifiedBuffer(9).device):
        try:
            other()
            assert not of_the_parent
        except unibuf.DeviceLostError as lost:
            assert of_the_parent and "parent process" in str(lost), lost
    fresh = UnifiedBuffer(9); fresh[3] = 5
    assert fresh.to_numpy()[3] == 5
    os._exit(0)
import signal, time
for _ in range(300):
    pid, status = os.waitpid(child, os.WNOHANG)
    if pid: break
    time.sleep(0.1)
else:
    os.kill(child, signal.SIGKILL); sys.exit("the child hangs")
a[8] = 6
assert status == 0 and b.device is not None and b.to_numpy()[8] == 6
print("both", end="")
""", space)  # fmt: skip
    assert found == "both"


BUSY = """
import threading, time, unibuf
unibuf.set_default_device("debug:0")
buffer = unibuf.UnifiedBuffer(5000).fill(1)
done = [0] * 4
def work(mine):
    while True:
        {call}
        done[mine] += 1
for mine in range(4):
    threading.Thread(target=work, args=(mine,), daemon=True).start()
while not all(done):
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    "call",
    [
        "buffer.host[:] = 1; buffer.device",
        "unibuf.UnifiedBuffer(1000).fill(1)",
        "buffer.to_numpy()",
        "buffer.state",
        "with buffer.read('host'): pass",
        "with unibuf.UnifiedBuffer(9).bound('debug:0', pause=lambda: None, resume=lambda: None): pass",
    ],
)
def test_an_exit_while_daemon_threads_are_busy_is_silent(call):
    for _ in range(3):
        program = BUSY.format(call=call)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_memory_info_is_within_the_limit():
    accelerator = unibuf.get_accelerator("debug:0")
    before = accelerator.memory
    limit = before.held + (1 << 20)
    buffer = UnifiedBuffer(1 << 16, np.uint8).fill(1)
    unibuf.limit_memory("debug:0", limit)
    try:
        assert accelerator.get_memory_info() == (limit - accelerator.memory.held, limit)
        buffer.read("debug:0").__enter__()
        assert accelerator.memory.held > before.held
        assert accelerator.get_memory_info() == (limit - accelerator.memory.held, limit)
    finally:
        unibuf.limit_memory("debug:0", None)
    assert accelerator.get_memory_info()[1] == before.total
