"""Buffers in pickles, and copies of them: the content, taken by way of the host."""

from __future__ import annotations

import pickle
from typing import Any

from . import _native
from .buffer import UnifiedBuffer
from .errors import DeviceUnavailableError, InvalidArgumentError

Form = tuple[type[UnifiedBuffer[Any]], tuple[int, ...], Any, dict[str, Any]]


def form_of(buffer: UnifiedBuffer[Any]) -> Form:
    """All but the content."""
    return type(buffer), buffer.shape, buffer.dtype, buffer._options()


def content_of(buffer: UnifiedBuffer[Any]) -> _native.Memory | None:
    """The host's copy, held in place; None where no bytes have to be sent: none, or none that anybody wrote."""
    return buffer._hold("host") if buffer.nbytes and buffer.is_allocated else None


def reduce(buffer: UnifiedBuffer[Any], protocol: int) -> tuple[Any, ...]:
    """From protocol 5 on the bytes go out of band where the pickler takes them so: nothing is copied here."""
    content: Any = content_of(buffer)
    if content is not None:
        content = pickle.PickleBuffer(content) if protocol >= 5 else bytes(content)
    state = getattr(buffer, "__dict__", None) or None  # of a class made from it
    return rebuild, (*form_of(buffer), content), state


def rebuild(
    kind: type[UnifiedBuffer[Any]], shape: tuple[int, ...], dtype: Any, options: dict[str, Any], content: Any
) -> UnifiedBuffer[Any]:
    """A new buffer with that content at the host. Where its device is missing, it is for the default device."""
    result = kind.__new__(kind)
    try:
        UnifiedBuffer.__init__(result, shape, dtype, **options)
    except (DeviceUnavailableError, InvalidArgumentError):
        UnifiedBuffer.__init__(result, shape, dtype, **{**options, "device": None})
    if content is None:
        return result
    if options["access"] == "read_only":  # accesses to write are refused
        memory: Any = result._hold("host")
        memoryview(memory)[:] = memoryview(content)
        result.mark_host_dirty()
    else:
        result._copy_bytes_from(content)
    return result
