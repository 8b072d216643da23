"""What a user gives for an array, and the bytes of one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PROTOCOLS = "__array__", "__array_interface__", "__array_struct__"


def as_array(data: Any) -> NDArray[Any]:
    """As numpy.asarray, but TypeError for what is no array. NumPy would ask it for each of its elements first, where it
    has a length, or make an array of the one object."""
    if not (
        isinstance(data, (np.ndarray, np.generic, Sequence, Number))
        or any(hasattr(data, name) for name in _PROTOCOLS)
        or _has_bytes(data)
    ):
        raise TypeError(
            f"copy_from takes an array, a buffer, a sequence or a number; {type(data).__name__} was given, which "
            "has no protocol of arrays"
        )
    return np.asarray(data)


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a C-contiguous array, also of types that have no buffer format."""
    return array.reshape(-1).view(np.uint8)


def _has_bytes(data: Any) -> bool:
    try:
        memoryview(data)
    except TypeError:
        return False
    return True
