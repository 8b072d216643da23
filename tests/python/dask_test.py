"""Buffers between Dask's workers: sent once, without a copy in the sender, into the receiver's host memory; whatever is
imported first."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import unibuf

pytest.importorskip("distributed", reason="dask and distributed are not installed")

from dask.base import tokenize
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, deserialize_bytes, serialize, serialize_bytes
from unibuf import BufferState, UnifiedBuffer

ROOT = Path(__file__).parents[2]
N = 200_000
CONTENT = np.arange(N, dtype=np.float32)


class Picture(UnifiedBuffer):
    """Made from UnifiedBuffer, to see that the class is kept."""


class Slotted(UnifiedBuffer):
    __slots__ = ("name",)


@pytest.fixture
def buffer():
    result = UnifiedBuffer((N,))
    result.host[:] = CONTENT
    return result


def run(program, *arguments, check=True):
    return subprocess.run(
        [sys.executable, *([program] if isinstance(program, Path) else ["-c", program]), *arguments],
        check=check,
        capture_output=True,
        text=True,
        timeout=240,
    )


# Frames


def test_the_content_is_one_frame_over_the_host_copy(buffer):
    header, (form, frame) = serialize(buffer)
    assert header["serializer"] == "pickle"
    assert len(form) < 1000
    assert np.shares_memory(np.frombuffer(frame, np.float32), buffer.host)
    assert memoryview(frame).nbytes == buffer.nbytes
    assert memoryview(frame).readonly and header["writeable"] == (False,)  # a receiver copies it once, not twice


@pytest.mark.parametrize(
    "collect", [lambda b: [b], lambda b: (1, b), lambda b: {"a": b}], ids=["list", "tuple", "dict"]
)
def test_buffers_inside_of_collections(buffer, collect):
    header, frames = serialize(collect(buffer))
    back = deserialize(header, frames)
    found = back["a"] if isinstance(back, dict) else back[-1]
    assert np.array_equal(found.host, CONTENT)


def test_what_arrives_is_at_the_host_only(buffer, device, numpy_of):
    array = buffer.device
    array += 1
    buffer.mark_device_dirty()
    back = deserialize(*serialize(buffer))
    assert back.state is BufferState.HOST_DIRTY
    assert back.statistics.transfers_made == 0
    assert np.array_equal(numpy_of(back.device), CONTENT + 1)
    assert back.state is BufferState.SYNCHRONIZED
    assert buffer.state is BufferState.SYNCHRONIZED  # not written by being sent


def test_frames_may_be_for_reading_only(buffer):
    header, frames = serialize(buffer)
    back = deserialize(header, [bytes(each) for each in frames])
    back.host[0] = 5
    assert np.array_equal(back.host[1:], CONTENT[1:])


@pytest.mark.parametrize(
    "make",
    [
        lambda: UnifiedBuffer((0, 3)),
        lambda: UnifiedBuffer(()).fill(3),
        lambda: UnifiedBuffer((10, 10), [("a", "f4"), ("b", "M8[s]")]).zeros(),
        lambda: UnifiedBuffer((100,), access="read_only").fill(1),
        lambda: Picture((4, 4), np.int16, hint="coherent").fill(7),
        lambda: UnifiedBuffer((10, 100)).fill(2).view(3, 4),
    ],
    ids=["empty", "no axes", "fields", "read only", "made from it", "view"],
)
def test_shapes_types_and_options(make):
    buffer = make()
    back = deserialize(*serialize(buffer))
    assert type(back) is type(buffer)
    assert (back.shape, back.dtype, back._options()) == (buffer.shape, buffer.dtype, buffer._options())
    assert np.array_equal(back.host, buffer.host)


def test_what_nobody_has_written_is_not_sent():
    header, frames = serialize(UnifiedBuffer((1 << 40,), np.uint8))
    assert sum(len(each) for each in frames) < 1000
    assert deserialize(header, frames).state is BufferState.UNINITIALIZED


def test_what_is_spilled_comes_back(buffer):
    back = deserialize_bytes(serialize_bytes(buffer))
    assert np.array_equal(back.host, CONTENT)


# Weights and names


def test_the_weight_is_that_of_the_content(buffer):
    assert buffer.nbytes <= sizeof(buffer) <= buffer.nbytes + 1000
    assert buffer.nbytes <= sizeof([buffer]) <= buffer.nbytes + 1000
    assert sizeof(buffer.view(0, 100)) < 1500
    assert sizeof(UnifiedBuffer((1 << 40,))) < 1000  # no memory was taken for it
    pool = unibuf.MemoryPool()
    released = pool.acquire(1000)
    pool.release(released)
    assert sizeof(released) < 1000


def test_equal_content_has_the_same_token(buffer):
    same = pickle.loads(pickle.dumps(buffer))
    assert tokenize(buffer) == tokenize(same)
    same.host[N // 2] = 77
    assert tokenize(buffer) != tokenize(same)
    same.copy_from(buffer)
    assert tokenize(buffer) == tokenize(same)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Picture((6,)).fill(1),
        lambda: UnifiedBuffer((2, 3)).fill(1),
        lambda: UnifiedBuffer((6,), np.int32).copy_from(np.ones(6, np.float32).view(np.int32)),
        lambda: UnifiedBuffer((6,), device="debug:0").fill(1),
        lambda: UnifiedBuffer((6,)),
        lambda: UnifiedBuffer((0,)),
        lambda: UnifiedBuffer(()).fill(1),
    ],
    ids=["class", "shape", "type", "options", "not written", "empty", "no axes"],
)
def test_other_buffers_have_other_tokens(make):
    plain = UnifiedBuffer((6,)).fill(1)
    assert tokenize(make()) == tokenize(make()) != tokenize(plain)


def test_the_attributes_of_a_class_made_from_it_are_in_the_token():
    first, second = Picture((6,)).fill(1), Picture((6,)).fill(1)
    first.name, second.name = "first", "second"
    assert tokenize(first) != tokenize(second)
    first, second = Slotted((6,)).fill(1), Slotted((6,)).fill(1)
    first.name = second.name = "first"
    assert tokenize(first) == tokenize(second)
    second.name = "second"
    assert tokenize(first) != tokenize(second)


def test_content_that_a_device_has_is_in_the_token(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer((1 << 20,), np.uint8).fill(1)
    before = tokenize(buffer)
    array = buffer.device
    array += 1
    buffer.mark_device_dirty()
    assert tokenize(buffer) != before
    assert tokenize(buffer) == tokenize(UnifiedBuffer((1 << 20,), np.uint8).fill(2))


# Whatever is imported first

ABOUT = """
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed.protocol import serialize
buffer = unibuf.UnifiedBuffer(1 << 20).fill(2)
print(serialize(buffer)[0]["serializer"], sizeof(buffer) // buffer.nbytes, tokenize(buffer))
"""


@pytest.fixture(scope="module")
def told():
    return run("import unibuf\n" + ABOUT).stdout


@pytest.mark.parametrize(
    "imports",
    [
        "import distributed, unibuf",
        "import unibuf, distributed, unibuf.dask",
        "import unibuf.dask",
        "import dask, unibuf",
    ],
)
def test_what_dask_knows_whatever_is_imported_first(imports, told):
    assert told.split()[:2] == ["pickle", "1"]
    assert run(imports + "\n" + ABOUT).stdout == told


SPILLS = """
{imports}

def made(number):
    return unibuf.UnifiedBuffer(1 << 22).fill(number)

def total(buffer):
    return float(buffer.host.sum())

def on_disk(dask_worker):
    return len(dask_worker.data.disk)

if __name__ == "__main__":
    import dask
    from distributed import Client, LocalCluster
    {inside}
    for limit in ("spill", "pause", "terminate"):
        dask.config.set({{"distributed.worker.memory." + limit: False}})
    dask.config.set({{"distributed.worker.memory.target": 0.04}})  # 40 MB
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, memory_limit="1GB", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        sent = client.scatter(unibuf.UnifiedBuffer((1000,)).fill(5))
        print(client.submit(total, sent).result())
        kept = client.map(made, range(5))
        print(sum(client.gather(client.map(total, kept))) / (1 << 22))
        print(min(client.run(on_disk).values()) >= 2)
"""


@pytest.mark.parametrize(
    ("imports", "inside"),
    [("import unibuf", "import unibuf.dask"), ("import unibuf", ""), ("import distributed, unibuf", "")],
)
def test_workers_import_what_the_program_imports(imports, inside, tmp_path):
    """Spawned workers run the program's top first. Their buffers weigh what they are: most of them are on disk."""
    program = tmp_path / "program.py"
    program.write_text(SPILLS.format(imports=imports, inside=inside or "pass"))
    done = run(program, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["5000.0", "10.0", "True"]), done.stderr


def test_unibuf_imports_no_dask():
    found = run(
        "import sys, unibuf; print([m for m in ('dask', 'distributed', 'cupy', 'pyopencl') if m in sys.modules])"
    )
    assert found.stdout.strip() == "[]"


# Workers


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as made,
    ):
        yield made


def on_arrival(buffer):
    return os.getpid(), str(buffer.state), buffer.statistics.transfers_made, float(buffer.host.sum())


def doubled(buffer):
    result = UnifiedBuffer(buffer.shape, buffer.dtype)
    np.multiply(buffer, 2, out=result.host)
    return result


def total(*buffers):
    return sum(float(each.host.sum()) for each in buffers)


def test_each_worker_gets_it_at_the_host(client, buffer):
    sent = client.scatter(buffer, broadcast=True, hash=False)
    workers = sorted(client.scheduler_info()["workers"])
    assert len(workers) == 2
    found = [
        client.submit(on_arrival, sent, workers=[worker], allow_other_workers=False, pure=False).result(timeout=60)
        for worker in workers
    ]
    assert len({process for process, *_ in found} | {os.getpid()}) == 3
    for _, state, transfers, sum_there in found:
        assert (state, transfers) == ("HOST_DIRTY", 0)
        assert sum_there == float(CONTENT.sum())


def test_results_move_between_workers_and_back(client, buffer):
    first, second = sorted(client.scheduler_info()["workers"])
    sent = client.scatter(buffer, workers=[first], hash=False)
    one = client.submit(doubled, sent, workers=[first], pure=False)
    two = client.submit(doubled, one, workers=[second], pure=False)
    back = two.result(timeout=60)
    assert isinstance(back, UnifiedBuffer)
    assert np.array_equal(back.host, 4 * CONTENT)
    assert client.submit(total, one, two, pure=False).result(timeout=60) == pytest.approx(6 * float(CONTENT.sum()))


def test_buffers_in_arguments_of_tasks(client, buffer):
    part = buffer.view(100, 50)
    assert client.submit(total, part, pure=False).result(timeout=60) == float(CONTENT[100:150].sum())


def test_the_example():
    done = run(ROOT / "examples/dask_conv2d/stack.py", "--pictures", "3", "--size", "64", check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "3 pictures of 64 x 64, 0 wrong"
    assert all(line.endswith("yes") for line in lines[1:4])
