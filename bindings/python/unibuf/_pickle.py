"""Buffers in pickles: the content, taken by way of the host."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from .buffer import UnifiedBuffer


def reduce(buffer: UnifiedBuffer[Any], protocol: int) -> tuple[Any, ...]:
    """From protocol 5 on the bytes go out of band where the pickler takes them so: nothing is copied here."""
    content = buffer.host.reshape(-1).view(np.uint8)
    data: Any = pickle.PickleBuffer(content) if protocol >= 5 else content.tobytes()
    return rebuild, (type(buffer), buffer.shape, buffer.dtype, buffer._options(), data)


def rebuild(
    kind: type[UnifiedBuffer[Any]], shape: tuple[int, ...], dtype: Any, options: dict[str, Any], data: Any
) -> UnifiedBuffer[Any]:
    """A new buffer with that content at the host."""
    result = kind(shape, dtype, **options)
    if result.nbytes:
        result._copy_bytes_from(data)
    return result
