"""Arrays of other libraries over memory that unibuf holds: CuPy's and PyOpenCL's, imported when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from . import _native
from .errors import DeviceUnavailableError


def index_of(space: str) -> int:
    """The number of a space among those of its kind."""
    return int(space.rpartition(":")[2])


def needed(module: str, package: str, space: str, otherwise: str) -> ModuleType:
    try:
        return import_module(module)
    except ImportError as failure:
        raise DeviceUnavailableError(
            f"arrays at {space} need the package {package}, which cannot be imported ({failure}); {otherwise}"
        ) from failure


def _cupy_array(memory: _native.Memory, shape: tuple[int, ...], dtype: Any) -> Any:
    cupy = needed("cupy", "CuPy (cupy-cuda12x, cupy-cuda13x)", memory.space, "buffer.cuda() works without it")
    owner = cupy.cuda.UnownedMemory(
        memory.handle, memory.offset + memory.nbytes, memory, device_id=index_of(memory.space)
    )
    return cupy.ndarray(shape, dtype, memptr=cupy.cuda.MemoryPointer(owner, memory.offset))


@cache
def _opencl_queue(space: str) -> Any:
    pyopencl = needed("pyopencl", "pyopencl", space, "unibuf works there without it, and shows no arrays")
    return pyopencl.CommandQueue.from_int_ptr(_native.opencl_queue(space), retain=True)


def _opencl_array(memory: _native.Memory, shape: tuple[int, ...], dtype: Any) -> Any:
    queue = _opencl_queue(memory.space)
    arrays = import_module("pyopencl.array")
    data = import_module("pyopencl").Buffer.from_int_ptr(memory.handle, retain=True)
    data.unibuf_memory = memory  # views of the array share `data`, and so keep the copy in place
    return arrays.Array(queue, shape, dtype, data=data, offset=memory.offset)


_makers = {"cuda": _cupy_array, "opencl": _opencl_array}


def wrap(memory: _native.Memory, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array over memory that the host cannot address; where nobody has arrays for it, the memory itself."""
    make = _makers.get(memory.space.partition(":")[0])
    return make(memory, shape, dtype) if make else memory
