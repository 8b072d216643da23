"""What an in-place operator gives back to the attribute that it has its operand from: `b.host += 1`."""

from __future__ import annotations

from typing import Any

import numpy as np


def take_back_host(buffer: Any, array: Any) -> None:
    """What was written to it, is found."""
    _check_is_shown("host", buffer.host, array)


def take_back_device(buffer: Any, array: Any) -> None:
    """Nobody would find what was written to it, so this says so."""
    _check_is_shown("device", buffer.device, array)
    buffer.mark_device_dirty()


def _check_is_shown(side: str, shown: Any, array: Any) -> None:
    if array is shown or (isinstance(array, np.ndarray) and _place(array) == _place(shown)):
        return
    raise AttributeError(
        f"`{side}` of a buffer is the array of its own memory, and no other takes its place: buffer.copy_from(array) "
        f"copies one, and so does buffer[...] = array"
    )


def _place(array: Any) -> Any:
    if not isinstance(array, np.ndarray):
        return None
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype
