"""What makes buffers by the names that NumPy and CuPy have for arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._array_likes import as_array
from ._device_arrays import cuda_array
from .buffer import UnifiedBuffer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike
    from typing_extensions import Unpack

    from .buffer import Options, Shape

# The options of all of these are those of UnifiedBuffer.


def empty(shape: Shape, dtype: DTypeLike = float, **options: Unpack[Options]) -> UnifiedBuffer[Any]:
    """A buffer of that shape whose content is unspecified until it is written. As with NumPy, the elements are float64
    where no dtype is given; those of UnifiedBuffer(shape) are float32."""
    options.setdefault("uninitialized", True)
    return UnifiedBuffer(shape, dtype, **options)


def zeros(shape: Shape, dtype: DTypeLike = float, **options: Unpack[Options]) -> UnifiedBuffer[Any]:
    """A buffer of that shape full of zeros, float64 where no dtype is given. No memory is taken before it is used."""
    return UnifiedBuffer(shape, dtype, **options)


def ones(shape: Shape, dtype: DTypeLike = float, **options: Unpack[Options]) -> UnifiedBuffer[Any]:
    """A buffer of that shape full of ones, float64 where no dtype is given."""
    return full(shape, 1, dtype, **options)


def full(
    shape: Shape, fill_value: Any, dtype: DTypeLike | None = None, **options: Unpack[Options]
) -> UnifiedBuffer[Any]:
    """A buffer of that shape, each element of which is `fill_value`, of its dtype where none is given."""
    return UnifiedBuffer(shape, _dtype_of(fill_value) if dtype is None else dtype, **options).fill(fill_value)


def empty_like(
    prototype: Any, dtype: DTypeLike | None = None, *, shape: Shape | None = None, **options: Unpack[Options]
) -> UnifiedBuffer[Any]:
    """As `empty`, with the shape and the dtype of a buffer or an array where none are given."""
    return empty(*_like(prototype, dtype, shape), **options)


def zeros_like(
    prototype: Any, dtype: DTypeLike | None = None, *, shape: Shape | None = None, **options: Unpack[Options]
) -> UnifiedBuffer[Any]:
    """As `zeros`, with the shape and the dtype of a buffer or an array where none are given."""
    return zeros(*_like(prototype, dtype, shape), **options)


def ones_like(
    prototype: Any, dtype: DTypeLike | None = None, *, shape: Shape | None = None, **options: Unpack[Options]
) -> UnifiedBuffer[Any]:
    """As `ones`, with the shape and the dtype of a buffer or an array where none are given."""
    return ones(*_like(prototype, dtype, shape), **options)


def full_like(
    prototype: Any,
    fill_value: Any,
    dtype: DTypeLike | None = None,
    *,
    shape: Shape | None = None,
    **options: Unpack[Options],
) -> UnifiedBuffer[Any]:
    """As `full`, with the shape and the dtype of a buffer or an array where none are given."""
    extents, element = _like(prototype, dtype, shape)
    return full(extents, fill_value, element, **options)


def asarray(
    data: ArrayLike | UnifiedBuffer[Any], dtype: DTypeLike | None = None, **options: Unpack[Options]
) -> UnifiedBuffer[Any]:
    """The buffer itself, where `data` is one of that dtype and no options are given; else a new one with what is in an
    array, a sequence or a number. What a CUDA device has is copied there. from_numpy makes a buffer over an array's own
    memory. Casts as numpy.asarray does."""
    if isinstance(data, UnifiedBuffer) and not options and dtype in (None, data.dtype):
        return data
    source: Any = data
    if not isinstance(data, (np.ndarray, UnifiedBuffer)):
        of_device = cuda_array(data)
        source = as_array(data) if of_device is None else of_device
    element = np.dtype(source.dtype if dtype is None else dtype)
    if element != source.dtype:
        source = source.astype(element)
    return UnifiedBuffer(source.shape, element, **options).copy_from(source)


def _like(prototype: Any, dtype: DTypeLike | None, shape: Shape | None) -> tuple[Any, Any]:
    of = prototype if hasattr(prototype, "shape") and hasattr(prototype, "dtype") else as_array(prototype)
    return of.shape if shape is None else shape, of.dtype if dtype is None else dtype


def _dtype_of(value: Any) -> np.dtype[Any]:
    return as_array(value).dtype
