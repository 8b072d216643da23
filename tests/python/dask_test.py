"""Buffers between Dask's workers: sent once, without a copy in the sender, into the receiver's host memory."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("distributed", reason="dask and distributed are not installed")

import unibuf.dask
from dask.base import tokenize
from dask.sizeof import sizeof
from distributed import Client, LocalCluster
from distributed.protocol import dask_serialize, deserialize, serialize
from unibuf import BufferState, UnifiedBuffer

ROOT = Path(__file__).parents[2]
N = 200_000
CONTENT = np.arange(N, dtype=np.float32)


class Picture(UnifiedBuffer):
    """Made from UnifiedBuffer, to see that the class is kept."""


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


def test_a_buffer_is_one_frame_over_the_host_copy(buffer):
    assert dask_serialize.dispatch(UnifiedBuffer) is unibuf.dask.serialize
    header, frames = serialize(buffer)
    assert header["serializer"] == "dask"
    assert len(frames) == 1
    assert np.shares_memory(np.frombuffer(frames[0], np.float32), buffer.host)
    assert memoryview(frames[0]).nbytes == buffer.nbytes


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
    back = deserialize(header, [bytes(frames[0])])
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
    assert frames == []
    assert deserialize(header, frames).state is BufferState.UNINITIALIZED


def test_dask_knows_sizes_and_tokens(buffer):
    assert sizeof(buffer) == buffer.nbytes
    same = pickle.loads(pickle.dumps(buffer))
    assert tokenize(buffer) == tokenize(same)
    same.host[0] = 77
    assert tokenize(buffer) != tokenize(same)


# Registration

REGISTERED = "from distributed.protocol import serialize; print(serialize(unibuf.UnifiedBuffer(3))[0]['serializer'])"


@pytest.mark.parametrize(
    ("imports", "serializer"),
    [
        ("import distributed, unibuf", "dask"),
        ("import unibuf, distributed, unibuf.dask", "dask"),
        ("import unibuf.dask", "dask"),
        ("import unibuf", "pickle"),  # nobody has asked
    ],
)
def test_when_it_is_registered(imports, serializer):
    assert run(f"{imports}; {REGISTERED}").stdout.split() == [serializer]


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
