"""What tests of rectangles share."""

import numpy as np
from numpy.lib.stride_tricks import as_strided
from unibuf import UnifiedBuffer


def grid(shape=(12, 9), dtype=np.float32, **options):
    """A buffer that is mirrored, so that bytes move, and an array with the same content."""
    content = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    return UnifiedBuffer(shape, dtype, hint="gpu_preferred", **options).copy_from(content), content


def as_numpy(array):
    """What an array of any device holds. PyOpenCL gets no array whose elements lie apart: it gets all between them."""
    if not hasattr(array, "queue"):
        return np.array(array.get() if hasattr(array, "get") else array)
    if not array.size:
        return np.empty(array.shape, array.dtype)
    reach = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True))
    count = reach // array.dtype.itemsize + 1
    flat = type(array)(array.queue, (count,), array.dtype, data=array.base_data, offset=array.offset)
    return as_strided(flat.get(), array.shape, array.strides)


def moved(buffer):
    return buffer.statistics.bytes_moved
