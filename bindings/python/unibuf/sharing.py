"""Buffers over memory that is there already: of this program, or of other processes of this machine."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._array_likes import host_array_of_dlpack
from ._dtypes import dtype_of
from ._shared import note
from .buffer import UnifiedBuffer
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray


def from_numpy(array: NDArray[Any]) -> UnifiedBuffer[Any]:
    """A buffer whose host copy is the array's memory, with what it holds: nothing is copied.

    The array may be written at any time; what was written is found as what is written to `host`. An array that is for
    reading, as np.memmap(..., mode="r") is, makes a buffer for reading: devices read it, and what would write it,
    anywhere, raises InvalidArgumentError, but mark_host_dirty, which says that somebody else has written the memory.
    Raises InvalidArgumentError where the array is not C-contiguous, and where some of its memory is that of another
    buffer, which lives.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"from_numpy takes a numpy.ndarray; {type(array).__name__} was given: from_dlpack takes what exports "
            "DLPack, and copy_from of a buffer copies any array or sequence"
        )
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError("from_numpy takes an array without a mask; a masked one was given: give its `data` or filled()")
    if array.dtype.hasobject:
        raise TypeError(f"dtype {array.dtype!r} refers to Python objects: elements are plain data")
    if not array.flags.c_contiguous:
        raise InvalidArgumentError("a buffer over an array needs it C-contiguous: copy_from takes any, and copies")
    _check_not_of_buffer(array)
    made: UnifiedBuffer[Any] = _native.over(UnifiedBuffer, array.reshape(-1).view(np.uint8), array.shape, array.dtype)
    return made


def from_dlpack(source: Any) -> UnifiedBuffer[Any]:
    """The same of what exports host memory by DLPack. Raises BufferError for memory of a device. The unversioned DLPack
    does not say whether memory may be written: NumPy takes it for memory for reading, and so does this."""
    _check_not_of_buffer(source)
    return from_numpy(host_array_of_dlpack(source))


def _check_not_of_buffer(memory: Any) -> None:
    """Raises InvalidArgumentError for what shows a buffer's own memory."""
    while isinstance(memory, (np.ndarray, memoryview)):
        memory = memory.base if isinstance(memory, np.ndarray) else memory.obj
    if isinstance(memory, (_native.Memory, UnifiedBuffer)):
        raise InvalidArgumentError(
            "a buffer over the memory of another buffer was asked for: use that buffer, or views of it, or copy_from"
        )


def attach(name: str) -> UnifiedBuffer[Any]:
    """The buffer that another process, or this one, shares under that name: its host copy is the same memory.

    Each process has device copies of its own. What one writes at the host is found by the next device access of the
    others, which then moves all of it. While one holds newer content on a device, the others' accesses raise
    AccessConflictError; where it has ended with that, TransferFailedError, until mark_host_dirty says that the host's
    bytes stand. The memory goes with the last process that has it. Raises InvalidArgumentError for a name whose giver
    has ended or dropped the buffer.
    """
    shape, dtype, options = _told_by(_native.description_of(name))
    result: UnifiedBuffer[Any] = _native.attach(UnifiedBuffer, name, shape, dtype, **options)
    note(result, result._share(""))
    return result


def _told_by(description: str) -> tuple[tuple[int, ...], np.dtype[Any], dict[str, Any]]:
    first, _, more = description.partition("\n")
    element, _, shape = first.partition(" ")
    try:
        dtype, options = ast.literal_eval(more) if more else (element, {})  # other languages say the first line alone
        return tuple(int(extent) for extent in shape.split(",") if extent), dtype_of(dtype), dict(options)
    except (AttributeError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as failure:
        raise InvalidArgumentError(f"a shared buffer is described as {description!r}, which is no array") from failure
