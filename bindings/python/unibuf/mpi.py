"""Buffers between machines, by mpi4py.

What is sent is packed in a short block, from where it is newest, and what has come is unpacked in one: just these bytes
move, and no block is open while a message is under way. MPI sees host memory of this module's own. What MPI refuses
raises TransferFailedError, where its error handler returns; a call after MPI has ended, InvalidArgumentError.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import product
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import InvalidArgumentError, LeaseTimeoutError, OutOfMemoryError, TransferFailedError, UnibufError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

    from .buffer import UnifiedBuffer

_MPI: Any = import_module("mpi4py.MPI")
# A message of a halo and a broadcast go in pieces of at most so many bytes. Any other message of more bytes is counted
# by a datatype.
_PIECE = 1 << 30
_one_at_a_time = Lock()  # held while a message is looked at and taken, so that no other thread takes it in between


def send(buffer: UnifiedBuffer[Any], to: int, tag: int, comm: Any) -> None:
    """Sends the newest content of a buffer or a view, wherever it is, as one message of MPI. Waits as MPI_Send does."""
    with _mpi("a message was to be sent"):
        if to != _MPI.PROC_NULL:
            message = _room_for(buffer.nbytes)
            _copy_out(buffer, message, _place_of(buffer))
            with _counted(message) as all_of_it:
                comm.Send(all_of_it, to, tag)


def recv(buffer: UnifiedBuffer[Any], source: int, tag: int, comm: Any, timeout: float | None = None) -> None:
    """Receives what send() has sent, and writes just these bytes. `source` and `tag` may be MPI.ANY_SOURCE and
    MPI.ANY_TAG.

    Raises LeaseTimeoutError where no message has come in time, and InvalidArgumentError for one of another size. Both
    leave the buffer as it was, and the message, when it comes, whole to the next call. Threads that receive the same
    get messages of their size alone."""
    with _mpi("a message was to be received"):
        if source == _MPI.PROC_NULL:
            return
        message = _room_for(buffer.nbytes)
        taken = _wait(
            lambda: _take(comm, source, tag, message.size),
            timeout,
            lambda: f"a message from rank {source} with tag {tag} has not come in time",
        )
        coming = _MPI.Status()
        with _counted(message) as all_of_it:
            taken.Recv(all_of_it, coming)
        came = coming.Get_elements(_MPI.BYTE)
        if came != message.size:
            raise TransferFailedError(
                f"a message of {message.size} bytes was to be received, but a call of MPI on another thread took it, "
                f"and the next one, of {came}, is lost: receive the messages of one source and tag either by unibuf or "
                "by MPI"
            )
    _copy_in(buffer, message, "host")


def bcast(buffer: UnifiedBuffer[Any], root: int, comm: Any) -> None:
    """Gives all processes of `comm` what `root` has in a buffer or a view. All call it, with parts of the same size;
    where the sizes differ, one has no memory for the message, or the content cannot be read at `root`, it raises at
    all."""
    with _mpi("a broadcast was to be made"):
        here = comm.Get_rank()
        size = buffer.nbytes
        failure: UnibufError | None = None
        try:
            message = _room_for(size)
            if here == root:
                _copy_out(buffer, message, _place_of(buffer))
        except UnibufError as unready:
            failure = unready
        all_of_them = np.array([size, -size, failure is not None], np.int64)
        comm.Allreduce(_MPI.IN_PLACE, all_of_them, _MPI.MAX)
        most, fewest, failed = int(all_of_them[0]), -int(all_of_them[1]), bool(all_of_them[2])
        if failure is not None:
            raise failure
        if failed:
            raise TransferFailedError(
                f"a broadcast from rank {root} was to be made, but another process cannot take part"
            )
        if most != fewest:
            raise InvalidArgumentError(
                f"a broadcast from rank {root} was to be made of {size} bytes here, and of {fewest} to {most} at others"
            )
        for piece in _pieces(message):
            comm.Bcast([piece, _MPI.BYTE], root)
        if here != root:
            _copy_in(buffer, message, "host")


class Neighbour(NamedTuple):
    """What has gone to one neighbour, and come from there, until now."""

    rank: int
    direction: tuple[int, ...]  # -1, 0 or 1 along each axis
    tag: int  # of what goes there
    bytes_sent: int
    bytes_received: int


class _Side(NamedTuple):
    rank: int
    direction: tuple[int, ...]
    out_tag: int
    in_tag: int
    out: tuple[slice, ...]
    into: tuple[slice, ...]
    elements: int
    outgoing: NDArray[np.uint8]
    incoming: NDArray[np.uint8]
    by: list[str]  # for each field, where the cells were that have gone: the ghosts are put there


class Halo:
    """The ghosts of one or several fields, which are the cells of neighbours.

        with mpi.Halo(MPI.COMM_WORLD, height, velocity, ghosts=(1, 1), periodic=(True, False)) as edges:
            edges.exchange()

    Up to three axes of a grid are cut among the processes of a communicator, by its own Cartesian topology where it has
    one, else by one that MPI makes, with the ranks in their order. Fields have one shape, in which ghosts are counted:
    the first and the last `ghosts` elements along each axis that is cut. Where there is no neighbour, ghosts are left
    alone. What goes to a neighbour is one message, of all fields.

    All processes make a halo, exchange and close it in the same order. Where shapes, ghosts or elements do not fit,
    InvalidArgumentError is raised at all of them.

    Args:
        ghosts: How many there are at either end of each axis; those without are not cut.
        periodic: Whether the last process along an axis is a neighbour of the first.
        ranks: How many processes there are along each axis; 0 lets MPI choose.
        corners: Whether ghosts at edges and corners are exchanged too.
        timeout: How many seconds finish() waits.
    """

    def __init__(
        self,
        comm: Any,
        *fields: UnifiedBuffer[Any],
        ghosts: Sequence[int] = (1,),
        periodic: Sequence[bool] = (),
        ranks: Sequence[int] = (),
        corners: bool = False,
        timeout: float | None = None,
    ) -> None:
        self._fields = fields
        self._timeout = timeout
        self._corners = corners
        self._state = "idle"
        self._exchanges = 0
        self._requests: list[Any] = []
        with _mpi("a halo was to be made"):
            self._comm = comm.Dup()
            self._comm.Set_errhandler(_MPI.ERRORS_RETURN)
            axes = 0
            wrap: tuple[bool, ...] = ()
            along: tuple[int, ...] = ()
            try:
                axes = len(fields[0].shape) if fields else 0
                self._ghosts = (*ghosts, *[0] * (axes - len(ghosts)))
                wrap = (*map(bool, periodic), *[False] * (axes - len(periodic)))
                along = (*map(int, ranks), *[0] * (axes - len(ranks)))
                fault = self._fault(max(len(ghosts), len(periodic), len(ranks)))
            except Exception as wrong:  # whatever it is: the others are told
                fault = f"{type(wrong).__name__}: {wrong}"
            self._agree(fault)
            self._shape = fields[0].shape
            self._cuts = [axis for axis in range(axes) if self._ghosts[axis]]
            self._agree(self._difference(wrap, along, bool(corners)))
            self._arrange(wrap, along)
            self._sides = list(self._neighbours(corners))
            self._agree(self._unequal_side())
            for goes in (False, True):
                for side in self._sides:
                    for piece in _pieces(side.outgoing if goes else side.incoming):
                        make = self._comm.Send_init if goes else self._comm.Recv_init
                        self._requests.append(
                            make([piece, _MPI.BYTE], side.rank, side.out_tag if goes else side.in_tag)
                        )

    def begin(self) -> None:
        """Starts to send the cells at the sides, as they are now. The inside may be computed, and everything may be
        accessed, until finish(). Inside a block that excludes reading, AccessConflictError, and nothing has begun."""
        with _mpi("an exchange was to begin"):
            if self._state != "idle":
                raise InvalidArgumentError("an exchange was to begin, but the one before has not been finished")
            for side in self._sides:
                at = 0
                side.by.clear()
                for field in self._fields:
                    part = field.view[side.out]
                    # With corners, cells go to several neighbours: they come to the host's copy once, for all of these.
                    side.by.append("host" if self._corners else _place_of(part))
                    _copy_out(part, side.outgoing[at : at + part.nbytes], side.by[-1])
                    at += part.nbytes
            self._state = "started"
            if self._requests:
                _MPI.Prequest.Startall(self._requests)

    def poll(self) -> bool:
        """Lets MPI work, which it does in calls alone, and returns whether all messages have come and gone."""
        with _mpi("an exchange was under way"):
            if self._state == "started" and _MPI.Request.Testall(self._requests):
                self._state = "arrived"
        return self._state == "arrived"

    def finish(self, timeout: float | None = None) -> None:
        """Waits for what the neighbours have sent, and writes the ghosts.

        Raises LeaseTimeoutError where a message has not come or gone in time, with its neighbour and tag;
        AccessConflictError inside a block that excludes writing. Nothing is lost, and it may be called again."""
        if self._state == "idle":
            raise InvalidArgumentError("an exchange was to be finished, but none has begun")
        _wait(self.poll, self._timeout if timeout is None else timeout, self._missing)
        for side in self._sides:
            at = 0
            for field, by in zip(self._fields, side.by, strict=True):
                part = field.view[side.into]
                _copy_in(part, side.incoming[at : at + part.nbytes], by)
                at += part.nbytes
        self._state = "idle"
        self._exchanges += 1

    def exchange(self) -> None:
        self.begin()
        self.finish()

    def close(self) -> None:
        """Ends the halo, before MPI ends; after that it leaves MPI alone. Messages that are under way are given up, and
        their memory and the communicator are left to MPI."""
        if self._comm == _MPI.COMM_NULL or _MPI.Is_finalized():
            return
        under_way = self._state == "started"
        for number, request in enumerate(self._requests):
            if under_way and not request.Test():
                if number < len(self._requests) // 2:
                    request.Cancel()
                    request.Wait()
                else:
                    _left_to_mpi.append(self._sides)
            request.Free()
        self._requests = []
        if not under_way:
            self._comm.Free()
        self._comm = _MPI.COMM_NULL

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The place of this process along each axis."""
        return self._coordinates

    @property
    def ranks(self) -> tuple[int, ...]:
        """How many processes there are along each axis."""
        return self._ranks

    @property
    def exchanges(self) -> int:
        return self._exchanges

    @property
    def neighbours(self) -> list[Neighbour]:
        counts = [side.outgoing.size * self._exchanges for side in self._sides]
        return [
            Neighbour(side.rank, side.direction, side.out_tag, count, count)
            for side, count in zip(self._sides, counts, strict=True)
        ]

    def _agree(self, fault: str) -> None:
        """Raises at all processes what one of them has to say."""
        size = self._comm.Get_size()
        first = self._comm.allreduce(self._comm.Get_rank() if fault else size, op=_MPI.MIN)
        if first == size:
            return
        text = self._comm.bcast(fault, root=first)
        self._comm.Free()
        raise InvalidArgumentError(f"rank {first}: {text}")

    def _fault(self, options: int) -> str:
        if not self._fields:
            return "a halo is of at least one field"
        shape = self._fields[0].shape
        if any(field.shape != shape for field in self._fields):
            return "the fields of a halo have one shape"
        if options > len(shape):
            return f"the options are of more axes than the fields, which have {len(shape)}"
        for axis, ghosts in enumerate(self._ghosts):
            if ghosts < 0 or 3 * ghosts > shape[axis]:
                return (
                    f"axis {axis} has {shape[axis]} elements: with {ghosts} ghosts at either end it needs at least "
                    "three times as many"
                )
        cuts = sum(ghosts > 0 for ghosts in self._ghosts)
        return "" if 1 <= cuts <= 3 else f"a halo has ghosts along 1 to 3 axes; here they are along {cuts}"

    def _difference(self, wrap: tuple[bool, ...], along: tuple[int, ...], corners: bool) -> str:
        whole = tuple(0 if ghosts else extent for ghosts, extent in zip(self._ghosts, self._shape, strict=True))
        mine = {
            "ghosts": self._ghosts,
            "extents of axes that are not cut": whole,
            "bytes of elements": tuple(field.dtype.itemsize for field in self._fields),
            "periodic": wrap,
            "ranks": along,
            "corners": corners,
        }
        first = self._comm.bcast(mine, root=0)
        return "; ".join(
            f"{what}: it has {value}, rank 0 has {first[what]}" for what, value in mine.items() if value != first[what]
        )

    def _arrange(self, wrap: tuple[bool, ...], along: tuple[int, ...]) -> None:
        """Gives the halo a communicator with a Cartesian topology."""
        cuts = self._cuts
        fault = ""
        if self._comm.Get_topology() == _MPI.CART:
            self._comm = _MPI.Cartcomm(self._comm)
            if self._comm.Get_dim() != len(cuts):
                fault = (
                    f"the communicator has a topology of {self._comm.Get_dim()} axes; "
                    f"the halo has ghosts along {len(cuts)}"
                )
            self._agree(fault)
        else:
            size = self._comm.Get_size()
            chosen = [along[axis] for axis in cuts]
            if size % prod(each or 1 for each in chosen) == 0:
                chosen = _MPI.Compute_dims(size, chosen)
            if prod(chosen) != size:
                fault = f"{size} processes cannot be arranged as was asked for: the ranks along the axes are {chosen}"
            self._agree(fault)
            plain, self._comm = self._comm, self._comm.Create_cart(chosen, [wrap[axis] for axis in cuts])
            plain.Free()
            self._comm.Set_errhandler(_MPI.ERRORS_RETURN)
        ranks, self._wrap, here = self._comm.Get_topo()
        places = dict(zip(cuts, zip(ranks, here, strict=True), strict=True))
        axes = range(len(self._shape))
        self._ranks = tuple(places[axis][0] if axis in places else 1 for axis in axes)
        self._coordinates = tuple(places[axis][1] if axis in places else 0 for axis in axes)

    def _neighbours(self, corners: bool) -> Iterator[_Side]:
        cuts = self._cuts
        bytes_each = sum(field.dtype.itemsize for field in self._fields)
        for number, towards in enumerate(product((-1, 0, 1), repeat=len(cuts))):
            there = [self._coordinates[axis] + step for axis, step in zip(cuts, towards, strict=True)]
            exists = all(
                wrap or 0 <= at < self._ranks[axis] for axis, at, wrap in zip(cuts, there, self._wrap, strict=True)
            )
            across = sum(step != 0 for step in towards)
            if not exists or across == 0 or (across > 1 and not corners):
                continue
            step_of = dict(zip(cuts, towards, strict=True))
            direction = tuple(step_of.get(axis, 0) for axis in range(len(self._shape)))
            out, into = zip(*map(_box, direction, self._ghosts, self._shape), strict=True)
            elements = prod(each.stop - each.start for each in out)
            yield _Side(
                self._comm.Get_cart_rank(there),
                direction,
                number,
                3 ** len(cuts) - 1 - number,
                out,
                into,
                elements,
                np.empty(elements * bytes_each, np.uint8),
                np.empty(elements * bytes_each, np.uint8),
                [],
            )

    def _unequal_side(self) -> str:
        """Compares the sizes of both ends of each message."""
        theirs = np.empty(len(self._sides), np.int64)
        mine = np.array([side.elements for side in self._sides], np.int64)
        requests = []
        for number, side in enumerate(self._sides):
            requests.append(self._comm.Irecv(theirs[number : number + 1], side.rank, side.in_tag))
            requests.append(self._comm.Isend(mine[number : number + 1], side.rank, side.out_tag))
        _MPI.Request.Waitall(requests)
        for number, side in enumerate(self._sides):
            if mine[number] != theirs[number]:
                return (
                    f"a message to rank {side.rank} has {mine[number]} elements; what comes from there has "
                    f"{theirs[number]}"
                )
        return ""

    def _missing(self) -> str:
        number = 0
        for goes in (False, True):
            for side in self._sides:
                for _ in _pieces(side.incoming):
                    if not self._requests[number].Get_status():
                        return (
                            f"a message {'to' if goes else 'from'} rank {side.rank} with tag "
                            f"{side.out_tag if goes else side.in_tag}, of {side.incoming.size} bytes, has not "
                            f"{'gone' if goes else 'come'} in time; finish() may be called again"
                        )
                    number += 1
        return "the last message came too late; finish() may be called again"


_left_to_mpi: list[Any] = []  # memory of messages that were given up


def _box(direction: int, ghosts: int, extent: int) -> tuple[slice, slice]:
    """What goes in a direction along one axis, and the ghosts there."""
    if direction == 0:
        return (slice(ghosts, extent - ghosts),) * 2
    if direction < 0:
        return slice(ghosts, 2 * ghosts), slice(0, ghosts)
    return slice(extent - 2 * ghosts, extent - ghosts), slice(extent - ghosts, extent)


def _place_of(part: UnifiedBuffer[Any]) -> str:
    """Returns the space that a part is copied out of, or into: where it is newest. One with steps goes by the host."""
    return "host" if part._has_steps else part._current_at()


def _copy_out(part: UnifiedBuffer[Any], message: NDArray[np.uint8], at: str) -> None:
    if part._has_steps:
        part.copy_to(_elements_of(message, part))
    else:
        part._copy_bytes_to(message, at=at)


def _copy_in(part: UnifiedBuffer[Any], message: NDArray[np.uint8], at: str) -> None:
    if part._has_steps:
        part.copy_from(_elements_of(message, part))
    else:
        part._copy_bytes_from(message, at=at)


def _elements_of(message: NDArray[np.uint8], part: UnifiedBuffer[Any]) -> NDArray[Any]:
    return message.view(part.dtype).reshape(part.shape)


def _pieces(message: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    for at in range(0, message.size or 1, _PIECE):
        yield message[at : at + _PIECE]


def _wait(is_done: Any, timeout: float | None, missing: Any) -> Any:
    until = None if timeout is None else time.monotonic() + timeout
    while not (done := is_done()):
        if until is not None and time.monotonic() >= until:
            raise LeaseTimeoutError(missing())
        time.sleep(0)
    return done


def _room_for(size: int) -> NDArray[np.uint8]:
    try:
        return np.empty(size, np.uint8)
    except MemoryError as none:
        raise OutOfMemoryError(f"memory for a message of {size} bytes was asked for") from none


def _take(comm: Any, source: int, tag: int, size: int) -> Any:
    """Takes the next message if it has come and has `size` bytes, in one step. One of another size stays with MPI."""
    coming = _MPI.Status()
    with _one_at_a_time:
        if not comm.Iprobe(source, tag, coming):
            return None
        comes = coming.Get_elements(_MPI.BYTE)
        if comes == size:
            return comm.Improbe(coming.Get_source(), coming.Get_tag())
    raise InvalidArgumentError(
        f"a message of {size} bytes from rank {coming.Get_source()} with tag {coming.Get_tag()} was to be received; "
        f"it has {comes}"
    )


@contextmanager
def _counted(message: NDArray[np.uint8]) -> Iterator[list[Any]]:
    """Bytes as MPI counts them: by a datatype where an int may not be able to. MPI copies it as it does plain bytes."""
    if message.size <= _PIECE:
        yield [message, _MPI.BYTE]
        return
    pieces, rest = divmod(message.size, _PIECE)
    piece = _MPI.BYTE.Create_contiguous(_PIECE)
    whole = _MPI.Datatype.Create_struct([pieces, rest], [0, pieces * _PIECE], [piece, _MPI.BYTE])
    piece.Free()
    whole.Commit()
    try:
        yield [message, 1, whole]
    finally:
        whole.Free()


@contextmanager
def _mpi(what: str) -> Iterator[None]:
    if _MPI.Is_finalized():
        raise InvalidArgumentError("MPI was to be used after MPI_Finalize")
    try:
        yield
    except _MPI.Exception as failure:
        raise TransferFailedError(f"{what}, but MPI failed: {failure}") from failure
