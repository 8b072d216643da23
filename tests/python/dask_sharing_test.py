"""Shared buffers between Dask's workers of one machine: passed on by name; a killed worker takes nothing along."""

import os
import signal
import sys
import time

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

pytest.importorskip("distributed", reason="dask and distributed are not installed")
if sys.platform != "linux":
    pytest.skip("memory that processes share is a memfd", allow_module_level=True)

import dask
import unibuf.dask
from distributed import Client, LocalCluster
from distributed.protocol import deserialize, deserialize_bytes, serialize, serialize_bytes

N = 50_000


class Picture(UnifiedBuffer):
    """Made from UnifiedBuffer, to see that the class is kept."""


class Slotted(UnifiedBuffer):
    __slots__ = ("name",)


class Stateful(Slotted):
    def __getstate__(self):
        return self.name

    def __setstate__(self, state):
        self.name = state + ", restored"


@pytest.fixture(scope="module")
def cluster():
    # Every two seconds, Dask would drop what a second worker has, too.
    keeps_all = {"distributed.scheduler.active-memory-manager.start": False}
    with (
        dask.config.set(keeps_all),
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as made,
    ):
        yield made


@pytest.fixture
def client(cluster):
    with Client(cluster) as made:
        made.wait_for_workers(2, timeout=60)
        unibuf.dask.share_on_machine(made)
        yield made


@pytest.fixture
def workers(client):
    return sorted(client.scheduler_info()["workers"])


# What tasks do


def made(value, shared=True):
    buffer = UnifiedBuffer((N,)).fill(value)
    if shared:
        buffer.share()
    return buffer


def made_picture():
    buffer = Picture((N,)).fill(1)
    buffer.name = "a picture"
    buffer.share()
    return buffer


def memory_of(buffer):
    """The inode of its memory, and a sum."""
    inode = None
    if buffer.id in unibuf._shared._files:
        inode = int(buffer.share().split(":")[-1])
    return inode, float(buffer.host.sum()), type(buffer).__name__, getattr(buffer, "name", None)


def written(buffer):
    buffer.host[:] = 7
    return buffer


def fail_to_attach(dask_worker):
    import unibuf.dask

    def failing(*_):
        raise unibuf.InvalidArgumentError("as if it could not be had")

    unibuf.dask.attached = failing


def attach_again(dask_worker):
    import unibuf.dask

    unibuf.dask.attached = unibuf._shared.attached
    unibuf.dask._begin(dask_worker.rpc)
    for each in list(dask_worker.rpc.available):  # those of before do not tell where they come from
        dask_worker.rpc.remove(each)


def pids(client):
    return client.run(os.getpid)


def kill(client, worker):
    """Kills a worker, and waits until the scheduler has noticed: until then it counts as one that can be asked."""
    os.kill(pids(client)[worker], signal.SIGKILL)
    until = time.monotonic() + 60
    while worker in client.scheduler_info()["workers"]:
        assert time.monotonic() < until, "the scheduler takes a killed worker for a living one"
        time.sleep(0.01)


def at(client, worker, function, *arguments):
    return client.submit(function, *arguments, workers=[worker], allow_other_workers=False, pure=False)


# By name, and not


def test_workers_pass_on_a_shared_buffer_by_name(client, workers):
    first, second = workers
    buffer = at(client, first, made, 3)
    here = at(client, first, memory_of, buffer).result(timeout=60)
    there = at(client, second, memory_of, buffer).result(timeout=60)
    assert here == there == (here[0], 3 * N, "UnifiedBuffer", None)
    assert here[0] is not None
    assert pids(client)[first] != pids(client)[second]


def test_what_one_writes_the_others_have(client, workers):
    first, second = workers
    buffer = at(client, first, made, 3)
    at(client, second, written, buffer).result(timeout=60)
    assert at(client, first, memory_of, buffer).result(timeout=60)[1] == 7 * N


def test_what_is_not_shared_goes_as_content(client, workers):
    first, second = workers
    buffer = at(client, first, made, 3, False)
    assert at(client, second, memory_of, buffer).result(timeout=60)[:2] == (None, 3 * N)


def test_the_class_and_its_attributes(client, workers):
    picture = at(client, workers[0], made_picture)
    inode, *about = at(client, workers[1], memory_of, picture).result(timeout=60)
    assert inode is not None and about == [N, "Picture", "a picture"]


def test_attributes_in_slots_and_states_of_its_own(client):
    here = {"recipient": {"unibuf-machine": unibuf.dask._machine()}}
    for buffer, expected in ((Slotted(N), "a picture"), (Stateful(N), "a picture, restored")):
        buffer.name = "a picture"
        buffer.share()
        header, frames = serialize(buffer, context=here)
        assert header["serializer"] == "dask" and deserialize(header, frames).name == expected


def test_the_programs_own_memory_on_all_workers(client, workers):
    buffer = made(2)
    name = buffer.share()
    there = at(client, workers[0], unibuf.attach, name)
    sums = [at(client, each, memory_of, there).result(timeout=60) for each in workers]
    assert {inode for inode, *_ in sums} == {int(name.split(":")[-1])}
    buffer.host[:] = 4
    assert at(client, workers[1], memory_of, there).result(timeout=60)[1] == 4 * N


def test_the_program_gets_the_memory_where_it_asks_the_worker(client, workers):
    future = at(client, workers[0], made, 3)
    inode = at(client, workers[0], memory_of, future).result(timeout=60)[0]
    direct = client.gather(future, direct=True)
    assert memory_of(direct)[:2] == (inode, 3 * N)
    assert memory_of(client.gather(future, direct=False))[:2] == (None, 3 * N)  # by way of the scheduler
    sent = client.scatter(direct, workers=[workers[1]], hash=False)
    assert at(client, workers[1], memory_of, sent).result(timeout=60)[:2] == (None, 3 * N)


def test_what_goes_to_disk_or_into_a_graph_is_content(client):
    buffer = made(3)
    back = deserialize_bytes(serialize_bytes(buffer))
    buffer.host[:] = 0
    assert (back.host == 3).all()
    assert client.submit(memory_of, made(5), pure=False).result(timeout=60)[:2] == (None, 5 * N)
    assert client.submit(lambda of: float(of.host.sum()), made(5), pure=False).result(timeout=60) == 5 * N


def test_another_machine_gets_the_content():
    here = {"recipient": {"unibuf-machine": unibuf.dask._machine()}}
    buffer = made(3)
    header, frames = serialize(buffer, context=here)
    assert header["serializer"] == "dask" and frames == []
    assert deserialize(header, frames).id == buffer.id
    for context in ({"recipient": {"unibuf-machine": "another"}}, {"recipient": {}}, {}, None):
        header, frames = serialize(buffer, context=context)
        assert header["serializer"] == "pickle"
        assert np.shares_memory(np.frombuffer(frames[1], np.float32), buffer.host)


# Workers that go


def test_where_a_name_cannot_be_had_the_content_comes(client, workers):
    first, second = workers
    client.run(fail_to_attach, workers=[second])
    try:
        buffer = at(client, first, made, 3)
        assert at(client, second, memory_of, buffer).result(timeout=60)[:2] == (None, 3 * N)
    finally:
        client.run(attach_again, workers=[second])


def test_a_killed_worker_takes_nothing_from_the_others(client, workers):
    first, second = workers
    buffer = at(client, first, made, 3)
    inode = at(client, second, memory_of, buffer).result(timeout=60)[0]
    assert inode is not None
    kept = client.gather(buffer, direct=True)
    kill(client, first)
    assert at(client, second, memory_of, buffer).result(timeout=60)[:2] == (inode, 3 * N)
    assert memory_of(kept)[:2] == (inode, 3 * N)


def test_what_a_killed_worker_alone_had_is_made_again(client, workers):
    first, second = workers
    buffer = client.submit(made, 6, workers=[first], allow_other_workers=True, pure=False)
    buffer.result(timeout=60)
    kill(client, first)
    assert at(client, second, memory_of, buffer).result(timeout=60)[1] == 6 * N


def test_workers_that_come_later_take_part(client):
    client.wait_for_workers(2, timeout=60)
    first, second = sorted(client.scheduler_info()["workers"])
    buffer = at(client, first, made, 3)
    inode = at(client, first, memory_of, buffer).result(timeout=60)[0]
    assert at(client, second, memory_of, buffer).result(timeout=60)[:2] == (inode, 3 * N)
