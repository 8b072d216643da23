"""Kernels of PyOpenCL that are run on buffers, and contexts of the program's own as spaces. One call does it all:
`enqueue(saxpy, x.size, read(x), read_write(y), np.float32(3))`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import pyopencl as cl
    from pyopencl.array import Array
except ImportError as failure:
    raise ImportError(f"unibuf.opencl needs PyOpenCL, which cannot be imported ({failure})") from failure

from . import _native
from ._base import READ, READ_WRITE, WRITE
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .buffer import UnifiedBuffer

__all__ = ["enqueue", "read", "read_write", "use", "write"]

_NUMBERS = {  # of OpenCL C, by their names
    **{"char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32},
    **{"long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64},
}


def read(buffer: UnifiedBuffer[Any], offset: int = 0, count: int | None = None) -> _native.KernelAccess:
    """An argument that the kernel reads: a buffer or a view. The kernel gets all of it, and reads `count` elements from
    `offset` on; None are all that follow."""
    return _native.KernelAccess(buffer, READ, offset, count)


def write(buffer: UnifiedBuffer[Any], offset: int = 0, count: int | None = None) -> _native.KernelAccess:
    """An argument that the kernel writes: all of those elements, as what was there before is not fetched."""
    return _native.KernelAccess(buffer, WRITE, offset, count)


def read_write(buffer: UnifiedBuffer[Any], offset: int = 0, count: int | None = None) -> _native.KernelAccess:
    """An argument that the kernel reads and writes, or writes in part."""
    return _native.KernelAccess(buffer, READ_WRITE, offset, count)


def enqueue(
    kernel: cl.Kernel,
    items: int | Sequence[int],
    *arguments: Any,
    group: int | Sequence[int] | None = None,
    space: str | None = None,
) -> None:
    """Runs a kernel on buffers: takes a lease for each access, sets all arguments, puts the kernel on the queue of its
    space, and ends the leases. The host does not wait, and later accesses wait for the kernel.

    `items` are the work items in 1 to 3 dimensions, `group` those of a work group; None leaves them to the driver. The
    arguments are accesses, as `read(buffer)`, and what PyOpenCL's kernels take: scalars of NumPy, vectors of
    `pyopencl.cltypes`, memory objects, samplers, LocalMemory, None. A plain number takes the type that the kernel
    declares, where the program was built with `-cl-kernel-arg-info`. `space` is needed where several spaces have the
    kernel's context. Raises what blocks raise, and InvalidArgumentError, which names the argument; no content has
    changed then. With buffers that are current there it takes about as long as PyOpenCL's call with memory objects."""
    _native.enqueue_opencl(kernel, items, arguments, group, space)


def use(of: cl.Context | cl.CommandQueue, device: cl.Device | None = None) -> str:
    """The space of the program's own context, or of its queue, which it keeps; makes it, where it is not there yet. A
    context of several devices takes the `device`. Raises InvalidArgumentError."""
    if isinstance(of, cl.CommandQueue):
        return _native.use_opencl(of.context.int_ptr, of.device.int_ptr, of.int_ptr)
    if device is None and len(of.devices) != 1:
        raise InvalidArgumentError(f"a context of {len(of.devices)} devices was given: name one of them")
    return _native.use_opencl(of.int_ptr, (device or of.devices[0]).int_ptr, 0)


def value_of(kernel: cl.Kernel, index: int, given: Any) -> Any:
    """The bytes of an argument that is no access, as an object that has them; the number of bytes of local memory."""
    if given is None:
        return np.uintp(0)
    if isinstance(given, cl.LocalMemory):
        return given.size
    if isinstance(given, (cl.MemoryObjectHolder, cl.Sampler)):
        return np.uintp(given.int_ptr)
    if isinstance(given, Array) and given.offset == 0 and isinstance(given.base_data, cl.MemoryObjectHolder):
        return np.uintp(given.base_data.int_ptr)
    if isinstance(given, bytes) or (isinstance(given, np.ndarray) and given.ndim == 0):
        return given
    if isinstance(given, (bool, int, float)):
        return _number_of(kernel, index, given)
    raise InvalidArgumentError(
        f"argument {index} of the kernel '{kernel.function_name}' is {type(given).__name__}, which no kernel takes: "
        "give read(buffer), write(buffer) or read_write(buffer), a scalar of NumPy, or a memory object"
    )


def _number_of(kernel: cl.Kernel, index: int, given: Any) -> Any:
    try:
        declared = kernel.get_arg_info(index, cl.kernel_arg_info.TYPE_NAME)
    except cl.Error:
        declared = "no type that OpenCL tells"
    if declared in _NUMBERS:
        return _NUMBERS[declared](given)
    raise InvalidArgumentError(
        f"argument {index} of the kernel '{kernel.function_name}' is {given!r}, and has {declared}: give a scalar of "
        "NumPy, as np.float32(3), or build the program with -cl-kernel-arg-info"
    )
