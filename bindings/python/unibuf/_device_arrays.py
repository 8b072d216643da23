"""Arrays of CuPy, PyOpenCL and MLX over memory that unibuf holds; these are imported when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from sys import modules
from types import ModuleType
from typing import Any

import numpy as np

from . import _native
from ._queues import address_of
from .errors import DeviceUnavailableError, InvalidArgumentError, UnsupportedError


@cache
def index_of(space: str) -> int:
    """The number of a space among those of its kind."""
    return int(space.rpartition(":")[2])


def _imported(module: str) -> ModuleType:
    """As importlib.import_module, which takes half a microsecond more."""
    __import__(module)
    return modules[module]


def needed(module: str, package: str, space: str, otherwise: str) -> ModuleType:
    try:
        return _imported(module)
    except ImportError as failure:
        raise DeviceUnavailableError(
            f"arrays at {space} need the package {package}, which cannot be imported ({failure}); {otherwise}"
        ) from failure


FUNCTIONS_IN = {"cuda": "cupy", "debug": "numpy"}  # by the kind of the space whose arrays they take


def has_function(space: str, name: str) -> bool:
    """Whether arrays at a space have NumPy's function of that name."""
    try:
        module = FUNCTIONS_IN.get(space.partition(":")[0])
        return module is not None and hasattr(_imported(module), name)
    except ImportError:
        return False


_CUPY = "CuPy (cupy-cuda12x, cupy-cuda13x)"
_DLPACK_CUDA = (2, 13)  # a device's memory, and managed memory


def check_order_of_bytes(dtype: Any) -> None:
    """Raises UnsupportedError for elements whose bytes are in the other order than this machine's: CuPy would compute
    with them as if they were in its own."""
    if not dtype.isnative:
        raise UnsupportedError(
            f"a CuPy array of {dtype} was asked for, and CuPy knows bytes in the machine's order alone: copy to a "
            f"buffer of {dtype.newbyteorder('=')}, by copy_from"
        )


def cuda_array(of: Any) -> Any | None:
    """The same memory as a cupy.ndarray, where it is a CUDA device's; else None."""
    has_interface = hasattr(of, "__cuda_array_interface__")
    if not has_interface:
        device = getattr(of, "__dlpack_device__", None)
        if device is None or int(device()[0]) not in _DLPACK_CUDA:
            return None
    cupy = needed("cupy", _CUPY, "CUDA devices", "copy what it has to the host first")
    if has_interface:
        check_order_of_bytes(np.dtype(of.__cuda_array_interface__["typestr"]))
    return cupy.asarray(of) if has_interface else cupy.from_dlpack(of)


def current_stream(space: str) -> Any:
    """CuPy's current stream on this thread, for a CUDA device; else None."""
    return _imported("cupy").cuda.get_current_stream() if space.startswith("cuda:") else None


def copy_at_device(write: Callable[..., _native.Access[Any]], source: Any) -> None:
    """What a cupy.ndarray has becomes the content of the buffer whose `write` is given."""
    space = f"cuda:{source.device.id}"
    with source.device:
        stream = current_stream(space)
        with write(space, stream=stream) as array:
            array[...] = source
            del array
        stream.synchronize()  # its owner may free or write it from here on


def cupy_memory(pool: _native.Pool, nbytes: int) -> Any:
    """A cupy.cuda.MemoryPointer to memory of the pool at CuPy's current device."""
    cuda = needed("cupy", _CUPY, "CUDA devices", "acquire gives buffers without it").cuda
    device = cuda.Device().id
    return _cupy_pointer(pool.allocate(nbytes, f"cuda:{device}", cuda.get_current_stream()))


def _cupy_pointer(memory: _native.Memory) -> Any:
    cuda = _imported("cupy").cuda
    size = memory.offset + memory.nbytes
    owner = cuda.UnownedMemory(memory.handle, size, memory, device_id=index_of(memory.space))
    return cuda.MemoryPointer(owner, memory.offset)


def _cupy_array(memory: _native.Memory, shape: tuple[int, ...], dtype: Any, _: Any, strides: Any) -> Any:
    check_order_of_bytes(dtype)
    cupy = needed("cupy", _CUPY, memory.space, "buffer.cuda() works without it")
    return cupy.ndarray(shape, dtype, memptr=_cupy_pointer(memory), strides=strides)


opencl_queues: dict[str, Any] = {}  # unibuf's own, by the spaces of which arrays were shown


def opencl_queue(space: str) -> Any:
    """unibuf's own."""
    pyopencl = needed("pyopencl", "pyopencl", space, "unibuf works there without it, and shows no arrays")
    if space not in opencl_queues:
        opencl_queues[space] = pyopencl.CommandQueue.from_int_ptr(_native.opencl_queue(space), retain=True)
    return opencl_queues[space]


def _opencl_array(memory: _native.Memory, shape: tuple[int, ...], dtype: Any, stream: Any, strides: Any) -> Any:
    queue = opencl_queue(memory.space)
    pyopencl = _imported("pyopencl")
    if isinstance(stream, pyopencl.CommandQueue):
        queue = stream
    elif stream is not None:
        queue = pyopencl.CommandQueue.from_int_ptr(address_of(stream), retain=True)
    arrays = _imported("pyopencl.array")
    data = pyopencl.Buffer.from_int_ptr(memory.handle, retain=True)
    data.unibuf_memory = memory  # views of the array share `data`, and so keep the copy in place
    return arrays.Array(queue, shape, dtype, data=data, offset=memory.offset, strides=strides)


def check_queue(stream: Any, space: str) -> None:
    """Raises InvalidArgumentError for a queue of PyOpenCL that is of another context than the space."""
    pyopencl = modules.get("pyopencl")
    if pyopencl and isinstance(stream, pyopencl.CommandQueue) and stream.context != opencl_queue(space).context:
        raise InvalidArgumentError(
            f"a queue of another context than that of {space} was given: make it of "
            f"unibuf.get_accelerator({space!r}).queue.context"
        )


@contextmanager
def memory_object(block: _native.Access[Any], space: str) -> Iterator[Any]:
    """What `block` gives at an OpenCL space, as a memory object that begins at the block's first byte."""
    with block as array:
        memory, offset = array.base_data, array.offset
        reach = sum((extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True))
        nbytes = reach + array.dtype.itemsize if array.nbytes else 0  # to the last element
        unit = array.queue.device.mem_base_addr_align // 8
        del array
        yield memory if nbytes == memory.size else _part_of(memory, offset, nbytes, unit, space)


def _part_of(memory: Any, offset: int, nbytes: int, unit: int, space: str) -> Any:
    if offset % unit:
        raise UnsupportedError(
            f"a memory object of a part was asked for that begins at byte {offset}; {space} has them from a multiple "
            f"of {unit} bytes on: give a kernel base_data and offset of the block's array"
        )
    result = memory.get_sub_region(offset, nbytes)
    result.unibuf_memory = memory.unibuf_memory
    return result


def mlx_of(space: str) -> ModuleType:
    """The module mlx.core. Raises DeviceUnavailableError where it cannot be imported."""
    return needed("mlx.core", "mlx", space, "buffer.metal_view() works without it")


# What makes arrays at the spaces of each kind; `views` adds Metal's, whose arrays are made of a view.
makers: dict[str, Callable[..., Any]] = {"cuda": _cupy_array, "opencl": _opencl_array}


def prepare(space: str) -> None:
    """Imports what makes arrays at a space. Raises DeviceUnavailableError where that cannot be imported."""
    kind = space.partition(":")[0]
    if kind == "cuda":
        needed("cupy", _CUPY, space, "buffer.cuda() works without it")
    elif kind == "opencl":
        opencl_queue(space)
    elif kind == "metal":
        mlx_of(space)


def wrap(
    memory: _native.Memory, shape: tuple[int, ...], dtype: Any, stream: Any, strides: tuple[int, ...] | None = None
) -> Any:
    """An array over memory that the host cannot address; where nobody has arrays for it, the memory itself. PyOpenCL's
    work on theirs goes to `stream`, or to unibuf's own queue."""
    make = makers.get(memory.space.partition(":")[0])
    return make(memory, shape, dtype, stream, strides) if make else memory
