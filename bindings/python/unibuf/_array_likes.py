"""What a user gives for an array, and the bytes of one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HOST_DEVICES = 1, 3, 11, 13  # of DLPack: those whose memory NumPy takes
_PROTOCOLS = "__array__", "__array_interface__", "__array_struct__"


class ImportDeviceError(UnsupportedError, BufferError):
    """What a library exports is memory of a device."""


def as_array(data: Any) -> NDArray[Any]:
    """As numpy.asarray, but TypeError for what is no array. NumPy would ask it for each of its elements first, where it
    has a length, or make an array of the one object."""
    if (
        isinstance(data, (np.ndarray, np.generic, Sequence, Number))
        or any(hasattr(data, name) for name in _PROTOCOLS)
        or _has_bytes(data)
    ):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return host_array_of_dlpack(data)
    raise TypeError(
        f"copy_from takes an array, a buffer, a sequence or a number; {type(data).__name__} was given, which "
        "has no protocol of arrays"
    )


def host_array_of_dlpack(source: Any) -> NDArray[Any]:
    """An array over what exports host memory by DLPack. BufferError for that of a device."""
    if not hasattr(source, "__dlpack__"):
        raise TypeError(f"from_dlpack takes what exports DLPack; {type(source).__name__} was given")
    if hasattr(source, "__dlpack_device__"):
        kind, index = source.__dlpack_device__()
        if int(kind) not in _HOST_DEVICES:
            raise ImportDeviceError(
                "DLPack memory of the host is taken, (1, 0), and what CUDA and ROCm share with it; memory at "
                f"{(int(kind), index)} was given: copy_from takes that of CUDA, arrays of PyOpenCL, and buffers"
            )
    return np.from_dlpack(source)


def bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of a C-contiguous array, also of types that have no buffer format."""
    return array.reshape(-1).view(np.uint8)


def _has_bytes(data: Any) -> bool:
    try:
        memoryview(data)
    except TypeError:
        return False
    return True
