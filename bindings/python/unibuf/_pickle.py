"""Buffers in pickles, and copies of them: the content, taken by way of the host."""

from __future__ import annotations

import copyreg
import pickle
from typing import Any, TypeVar

import numpy as np

from . import _native
from ._base import READ, BufferBase
from .errors import DeviceUnavailableError, InvalidArgumentError

B = TypeVar("B", bound=BufferBase[Any])
Form = tuple[type[B], tuple[int, ...], Any, dict[str, Any]]


def form_of(buffer: B) -> Form[B]:
    """All but the content. Memory of unibuf's own may be written, whatever it was copied from."""
    options = buffer._options()
    if options["access"] == "constant":
        options["access"] = "read_write"
    return type(buffer), buffer.shape, buffer.dtype, options


def content_of(buffer: BufferBase[Any]) -> _native.Memory | bytes | None:
    """The host's copy, held in place; a rectangle's elements are copied out of it. None where no bytes have to be sent:
    none, or none that anybody wrote."""
    if not buffer.nbytes or not buffer.is_allocated:
        return None
    return buffer._hold("host") if buffer._strides is None else _copied(buffer)


def _copied(buffer: BufferBase[Any]) -> bytes:
    block: _native.Access[Any] = _native.Access(buffer, READ, "host", 0, None, None, None)
    with block as array:  # nobody writes meanwhile
        content: bytes = array.tobytes()
        del array
    return content


def attributes_of(buffer: BufferBase[Any]) -> Any:
    """Those of a class made from it, as the third part of object.__reduce_ex__(2) has them."""
    if hasattr(buffer, "__getstate__"):  # of the class or, from Python 3.11 on, of any object
        return buffer.__getstate__()
    names: list[str] = copyreg._slotnames(type(buffer))  # type: ignore[attr-defined]
    in_slots = {name: getattr(buffer, name) for name in names if hasattr(buffer, name)}
    in_dictionary = getattr(buffer, "__dict__", None)
    return (in_dictionary, in_slots) if in_slots else in_dictionary


def give_attributes(buffer: BufferBase[Any], state: Any) -> None:
    """What attributes_of has of another one, as a pickle gives it."""
    if state is None:
        return
    if hasattr(buffer, "__setstate__"):
        buffer.__setstate__(state)
        return
    in_dictionary, in_slots = state if isinstance(state, tuple) else (state, None)
    if in_dictionary:
        vars(buffer).update(in_dictionary)
    for name, value in (in_slots or {}).items():
        setattr(buffer, name, value)


def reduce(buffer: BufferBase[Any], protocol: int) -> tuple[Any, ...]:
    """From protocol 5 on the bytes go out of band where the pickler takes them so: nothing is copied here."""
    content: Any = content_of(buffer)
    if content is not None and protocol >= 5:  # for reading only: who has the bytes so need not copy them for rebuild
        content = pickle.PickleBuffer(memoryview(content).toreadonly())
    elif content is not None:
        content = None  # what nobody holds may be leased
        content = _copied(buffer)
    return rebuild, (*form_of(buffer), content), attributes_of(buffer)


def rebuild(kind: type[B], shape: tuple[int, ...], dtype: Any, options: dict[str, Any], content: Any) -> B:
    """A new buffer with that content at the host. Where its device is missing, it is for the default device."""
    result = kind.__new__(kind)
    try:
        BufferBase.__init__(result, shape, dtype, **options)
    except (DeviceUnavailableError, InvalidArgumentError):
        BufferBase.__init__(result, shape, dtype, **{**options, "device": None})
    if content is None:
        return result
    if options["access"] == "read_only":  # accesses to write are refused
        memory: Any = result._hold("host")
        memoryview(memory)[:] = memoryview(content)
        result.mark_host_dirty()
    else:
        result._copy_bytes_from(content)
    return result


def token(buffer: BufferBase[Any]) -> Any:
    """What Dask takes for the same: class, attributes and content. Nothing is copied."""
    from dask.base import normalize_token  # Dask is asking

    content: Any = content_of(buffer)
    about = (*form_of(buffer), attributes_of(buffer), None if content is None else np.frombuffer(content, np.uint8))
    return normalize_token(about)
