"""Buffers that are used again, with the memory that they have."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _native
from ._device_arrays import cupy_memory
from .buffer import UnifiedBuffer
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from .buffer import Shape


class PoolStatistics(NamedTuple):
    """What is in use is counted by the names, and in the sense, of rmm.statistics: buffers that were acquired, and
    neither released nor ended; bytes as they were asked for."""

    hits: int  # acquisitions that were given a buffer that was there
    misses: int  # and those for which one was made
    held: int  # buffers that are there to be acquired
    held_bytes: int
    peak_memory: int  # the most bytes that all buffers of the pool, held or in use, had room for at one time
    current_bytes: int  # in use
    current_count: int
    peak_bytes: int  # the most that was in use at one time
    peak_count: int
    total_bytes: int  # of all acquisitions
    total_count: int


class MemoryPool:
    """Keeps released buffers, with their copies, and gives them to those who acquire one of the same size and options:
    the one that was released last comes first. Any thread.

    A buffer has room for up to an eighth more than was asked for, or 64 bytes, so that near sizes share them.
    """

    __slots__ = ("_pool",)

    def __init__(self, *, _shared: bool = False) -> None:
        self._pool = _native.Pool(_shared)

    def acquire(
        self,
        shape: "Shape",
        dtype: "DTypeLike" = np.float32,
        *,
        pinned: bool = False,
        access: str = "read_write",
        hint: str | None = None,
        device: str | None = None,
        tracking: str = "auto",
        uninitialized: bool = False,
    ) -> UnifiedBuffer[Any]:
        """What was written before is not there: it reads as zero, unless `uninitialized` asks for it as it is."""
        found: UnifiedBuffer[Any] = self._pool.acquire(
            UnifiedBuffer, shape, dtype, pinned, access, hint, device, tracking, uninitialized
        )
        return found

    def release(self, buffer: UnifiedBuffer[Any]) -> None:
        """The buffer is not to be used any more. It is not given to anybody as long as arrays of it are held. Raises
        AccessConflictError while it is leased, InvalidArgumentError where it is a view, not of this pool, or was
        released before; it is the caller's still, then."""
        self._pool.release(buffer)

    @contextmanager
    def scoped(self, shape: "Shape", dtype: "DTypeLike" = np.float32, **options: Any) -> Iterator[UnifiedBuffer[Any]]:
        """`with pool.scoped((1000,)) as buffer:` released at the end."""
        buffer = self.acquire(shape, dtype, **options)
        try:
            yield buffer
        finally:
            with suppress(InvalidArgumentError):  # one that was freed, or released by hand, is not the pool's any more
                self.release(buffer)

    def reserve(self, count: int, nbytes: int, space: str = "host") -> None:
        """Makes buffers that can be acquired without allocating, with copies at the host and at `space`."""
        self._pool.reserve(count, nbytes, space)

    @contextmanager
    def numpy_allocator(self) -> Iterator[None]:
        """`with pool.numpy_allocator():` the arrays that NumPy makes inside have their bytes from the pool, and give
        them back when they go, be it after the block. Other threads have NumPy's own memory. The end of a
        block gives NumPy the allocator back that its beginning found: of two blocks, the last one has to end first."""
        before = _native.set_numpy_handler(self._pool.numpy_handler())
        try:
            yield
        finally:
            _native.set_numpy_handler(before)

    def cupy_allocator(self, nbytes: int) -> Any:
        """For `cupy.cuda.set_allocator(pool.cupy_allocator)`: memory of the pool at CuPy's current device, as a
        cupy.cuda.MemoryPointer. It goes back when CuPy drops it, and whoever has it next waits for the work that is on
        the stream then that was the current one here."""
        return cupy_memory(self._pool, nbytes)

    def trim(self, nbytes: int = 0) -> None:
        """Frees buffers that are held, those that were released longest ago first, until at most `nbytes` are."""
        self._pool.trim(nbytes)

    def clear(self) -> None:
        """Frees all buffers that are held."""
        self.trim(0)

    def limit(self, nbytes: int | None) -> None:
        """Holds at most `nbytes` from now on; None for no limit."""
        self._pool.limit(nbytes)

    @property
    def statistics(self) -> PoolStatistics:
        return PoolStatistics(**self._pool.statistics())

    def __repr__(self) -> str:
        found = self.statistics
        return f"MemoryPool({found.held} held, {found.held_bytes} bytes; {found.hits} hits, {found.misses} misses)"


_shared = MemoryPool(_shared=True)


def get_memory_pool() -> MemoryPool:
    """The one that the program shares, also with C++."""
    return _shared
