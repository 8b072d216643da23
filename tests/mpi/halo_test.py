"""What unibuf.mpi does on several processes, all of which run the same tests."""

import threading

import numpy as np
import pytest
import unibuf
from mpi4py import MPI
from unibuf import UnifiedBuffer, mpi

WORLD = MPI.COMM_WORLD
RANK, SIZE = WORLD.Get_rank(), WORLD.Get_size()
LEFT, RIGHT = (RANK - 1) % SIZE, (RANK + 1) % SIZE


def field(shape, dtype=np.int32, *, rank=RANK):
    """A field whose elements tell the rank and their index; the device alone has it."""
    result = UnifiedBuffer(shape, dtype, device="debug:0", hint="gpu_preferred")
    with result.write("debug:0") as array:
        array[...] = values(shape, dtype, rank)
        del array
    return result


def values(shape, dtype, rank):
    return (1000 * rank + np.arange(np.prod(shape))).reshape(shape).astype(dtype)


def inner(direction):
    """Along one axis, the cells that lie in a direction."""
    return {-1: slice(1, 2), 0: slice(1, -1), 1: slice(-2, -1)}[direction]


def ghosts(direction):
    return {-1: slice(0, 1), 0: slice(1, -1), 1: slice(-1, None)}[direction]


@pytest.mark.parametrize("shape", [(6,), (6, 5), (5, 4, 6)])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("corners", [False, True])
def test_ghosts_are_the_cells_of_neighbours(shape, periodic, corners):
    first, second = field(shape), field(shape, np.float64)
    axes = len(shape)
    with mpi.Halo(WORLD, first, second, ghosts=[1] * axes, periodic=[periodic] * axes, corners=corners) as edges:
        edges.exchange()
        with first.read("debug:0") as array:
            del array
        sent = sum(each.bytes_sent for each in edges.neighbours)
        assert first.statistics.bytes_moved <= 2 * sent * 4 // 12
        wanted = values(shape, np.float64, RANK)
        for each in edges.neighbours:
            there = values(shape, np.float64, each.rank)
            box = tuple(inner(-step) if step else slice(1, -1) for step in each.direction)
            wanted[tuple(map(ghosts, each.direction))] = there[box]
            assert each.bytes_sent == each.bytes_received == there[box].size * 12
        assert np.array_equal(first.to_numpy(), wanted)
        assert np.array_equal(second.to_numpy(), wanted)
        assert edges.exchanges == 1


def test_the_boundary_alone_moves():
    rows = field((6, 100))
    with mpi.Halo(WORLD, rows, periodic=[True]) as edges:
        edges.exchange()
        assert rows.statistics.bytes_moved == 4 * 400
        with rows.read("debug:0") as array:
            assert array[0, 0] == 1000 * LEFT + 400
            assert array[5, 99] == 1000 * RIGHT + 199
            del array
        assert rows.statistics.bytes_moved == 4 * 400


def test_a_topology_of_the_program_is_used():
    comm = WORLD.Create_cart([SIZE], [True])
    columns = field((3, 6))
    with mpi.Halo(comm, columns, ghosts=(0, 1)) as edges:
        comm.Free()
        edges.exchange()
        assert edges.coordinates == (0, RANK)
        assert edges.ranks == (1, SIZE)
        assert columns.to_numpy()[1, 0] == 1000 * LEFT + 10


@pytest.mark.parametrize(
    ("says", "shape", "options"),
    [
        ("rank 1: ghosts: it has", (9,), lambda odd: {"ghosts": [2 if odd else 1]}),
        ("rank 1: corners: it has True", (9,), lambda odd: {"corners": odd}),
        ("three times as many", (9,), lambda odd: {"ghosts": [4 if odd else 1]}),
        ("along 0", (9,), lambda _: {"ghosts": [0]}),
        ("more axes than the fields", (9,), lambda _: {"ghosts": [1, 1]}),
        ("cannot be arranged", (9,), lambda _: {"ranks": [SIZE + 1]}),
        ("rank 1: TypeError", (9,), lambda odd: {"ghosts": None if odd else [1]}),
        ("rank 1: TypeError", (9,), lambda odd: {"ranks": None if odd else [0]}),
    ],
)
def test_a_mismatch_is_found_by_all(says, shape, options):
    with pytest.raises(unibuf.InvalidArgumentError, match=says):
        mpi.Halo(WORLD, field(shape), **options(RANK == 1))


def test_mismatches_of_extents_and_elements_are_found_by_all():
    odd = RANK == 1
    with pytest.raises(unibuf.InvalidArgumentError, match="rank 1: extents of axes that are not cut"):
        mpi.Halo(WORLD, field((6, 5 if odd else 4)))
    with pytest.raises(unibuf.InvalidArgumentError, match="elements; what comes from there has"):
        mpi.Halo(WORLD, field((6, 5 if odd else 4)), ghosts=(1, 1), ranks=(SIZE, 1))
    with pytest.raises(unibuf.InvalidArgumentError, match=r"rank 1: bytes of elements: it has \(8,\)"):
        mpi.Halo(WORLD, field((6,), np.float64 if odd else np.int32))


def test_what_is_excluded_can_be_done_later():
    line = field((6,))
    with mpi.Halo(WORLD, line, periodic=[True]) as edges:
        with line.write("host") as array:
            with pytest.raises(unibuf.AccessConflictError):
                edges.begin()
            array[:] = values((6,), np.int32, RANK)
            del array
        with pytest.raises(unibuf.InvalidArgumentError, match="none has begun"):
            edges.finish()
        edges.begin()
        with pytest.raises(unibuf.InvalidArgumentError, match="has not been finished"):
            edges.begin()
        with line.read("host") as array:
            with pytest.raises(unibuf.AccessConflictError):
                edges.finish()
            del array
        assert edges.poll()
        edges.finish()
        assert line.to_numpy()[0] == 1000 * LEFT + 4


def test_a_message_that_does_not_come_is_named():
    line = field((6,))
    with mpi.Halo(WORLD, line, timeout=0.02) as edges:
        if RANK == 0:
            edges.begin()
            with pytest.raises(unibuf.LeaseTimeoutError, match="from rank 1 with tag 0, of 4 bytes"):
                edges.finish()
            WORLD.Barrier()
        else:
            WORLD.Barrier()
            edges.begin()
        edges.finish(60)
        if RANK == 0:
            assert line.to_numpy()[5] == 1001


def test_messages():
    mine, theirs = field((100,)), field((50,), rank=-1)
    with pytest.raises(unibuf.LeaseTimeoutError, match="tag 3"):
        mpi.recv(theirs, MPI.ANY_SOURCE, 3, WORLD, timeout=0.01)
    WORLD.Barrier()
    mpi.send(mine.view(20, 50), RIGHT, 3, WORLD)
    with pytest.raises(unibuf.InvalidArgumentError, match="it has 200"):
        mpi.recv(mine, LEFT, 3, WORLD)
    mpi.recv(theirs, LEFT, 3, WORLD)
    assert mine.statistics.bytes_moved == 200
    assert theirs.statistics.bytes_moved == 0
    assert theirs.to_numpy()[0] == 1000 * LEFT + 20
    mpi.send(mine, MPI.PROC_NULL, 0, WORLD)


def test_a_message_of_several_pieces_is_refused_and_received_whole(monkeypatch):
    piece = 1 << 16
    monkeypatch.setattr(mpi, "_PIECE", piece)
    half, one, longer = (UnifiedBuffer(size, np.uint8) for size in (piece // 2, piece, piece + piece // 2))
    if RANK == 0:
        for buffer, value, tag in ((longer, 7, 5), (half, 9, 5), (one, 3, 6)):
            buffer.fill(value)
            mpi.send(buffer, 1, tag, WORLD)
    elif RANK == 1:
        for other in (one, half):
            with pytest.raises(unibuf.InvalidArgumentError, match=f"it has {longer.nbytes}"):
                mpi.recv(other, 0, 5, WORLD, timeout=60)
        with pytest.raises(unibuf.LeaseTimeoutError):
            mpi.recv(longer, 0, 7, WORLD, timeout=0.02)
        mpi.recv(longer, 0, 5, WORLD, timeout=60)
        assert (longer.to_numpy() == 7).all()
        mpi.recv(half, MPI.ANY_SOURCE, 5, WORLD, timeout=60)
        assert (half.to_numpy() == 9).all()
        with pytest.raises(unibuf.InvalidArgumentError, match=f"it has {piece}"):
            mpi.recv(longer, 0, 6, WORLD, timeout=60)
        mpi.recv(one, 0, MPI.ANY_TAG, WORLD, timeout=60)
        assert (one.to_numpy() == 3).all()
    WORLD.Barrier()


def test_without_memory_for_a_message_there_is_an_error_and_for_a_broadcast_one_at_all():
    vast = UnifiedBuffer(1 << 62, np.uint8)
    for call in (
        lambda: mpi.send(vast, RIGHT, 3, WORLD),
        lambda: mpi.recv(vast, LEFT, 3, WORLD, timeout=0),
        lambda: mpi.bcast(vast, 0, WORLD),
    ):
        with pytest.raises(unibuf.OutOfMemoryError, match="memory for a message"):
            call()
    with pytest.raises(unibuf.InvalidArgumentError, match="rank 1: AttributeError"):
        mpi.Halo(WORLD, None if RANK == 1 else field((9,)))


@pytest.mark.skipif(MPI.Query_thread() < MPI.THREAD_MULTIPLE, reason="this MPI is for one thread at a time")
def test_threads_that_receive_the_same_get_messages_of_their_size():
    rounds, sizes = 300, (64, 128)
    wrong = []
    left = [*range(2 * rounds)] if RANK == 1 else []

    def take(size):
        buffer = UnifiedBuffer(size, np.uint8)
        while left:
            try:
                mpi.recv(buffer, 0, 5, WORLD, timeout=0.002)
            except (unibuf.LeaseTimeoutError, unibuf.InvalidArgumentError):
                continue
            except unibuf.UnibufError as failure:
                wrong.append(failure)
            else:
                wrong.extend(byte for byte in buffer.to_numpy() if byte != size)
            left.pop()

    if RANK == 0:
        buffers = [UnifiedBuffer(size, np.uint8) for size in sizes]
        for buffer, size in zip(buffers, sizes, strict=True):
            buffer.fill(size)
        for number in range(2 * rounds):
            mpi.send(buffers[number % 2], 1, 5, WORLD)
    elif RANK == 1:
        threads = [threading.Thread(target=take, args=(size,)) for size in sizes * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    WORLD.Barrier()
    assert not wrong


def test_broadcasts():
    mine = field((100,))
    mpi.bcast(mine.view(5, 10), 1, WORLD)
    assert mine.to_numpy()[[4, 5, 15]].tolist() == [1000 * RANK + 4, 1005, 1000 * RANK + 15]
    with pytest.raises(unibuf.InvalidArgumentError, match="40 to 400"):
        mpi.bcast(mine if RANK == 0 else mine.view(0, 10), 0, WORLD)
    with mine.write("host") as array:
        with pytest.raises(unibuf.UnibufError):
            mpi.bcast(mine, 0, WORLD)
        del array
