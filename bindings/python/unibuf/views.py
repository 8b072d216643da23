"""The copy of one memory, for other libraries: it exposes that memory's protocols, and no others.

An object that has the protocols of several memories at once gives each library the copy that it happens to ask for
first. A view of one leaves no choice.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

from . import _native
from ._device_arrays import check_order_of_bytes, index_of, makers, mlx_of, needed, wrap
from .errors import DeviceUnavailableError, UnsupportedError

if TYPE_CHECKING:
    import numpy as np

_DLPACK_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_BFLOAT = 4


class ExportError(UnsupportedError, BufferError, ValueError):
    """What a library asked for cannot be exported to it."""


class ExportDeviceError(DeviceUnavailableError, BufferError):
    """Nor can it be where the device is missing."""


class DeviceView:
    """The copy at one device as it was when the view was made: current then, kept in place as long as the view or an
    array made from it lives. What is written to it, mark_dirty tells."""

    DLPACK: ClassVar[int]
    __slots__ = ("_memory", "_strides", "dtype", "shape")

    def __init__(
        self,
        memory: _native.Memory,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        strides: tuple[int, ...] | None = None,
    ) -> None:
        self._memory = memory
        self._strides = strides  # in bytes; None where the elements follow each other
        self.shape = shape
        self.dtype = dtype

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    @property
    def space(self) -> str:
        return self._memory.space

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.DLPACK, index_of(self.space)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule over the same memory, ready on any stream. Raises BufferError for another device, and where a copy
        is asked for."""
        self._check_stream(stream)
        here = self.__dlpack_device__()
        if dl_device is not None and (int(dl_device[0]), dl_device[1]) != here:
            raise ExportError(f"a view of {self.space} is at {here}, and exports nothing to {dl_device}")
        if copy:
            raise ExportError(f"a view of {self.space} copies nothing: copy what it exports")
        code, bits = _dlpack_type(self.dtype)
        versioned = max_version is not None and max_version[0] >= 1
        return _native.dlpack(
            self._memory, self.shape, self._strides, self.dtype.itemsize, code, bits, *here, versioned, 0
        )

    def _check_stream(self, stream: Any) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, space={self.space!r})"


class CudaView(DeviceView):
    """The copy at a CUDA device, with the CUDA array interface and DLPack."""

    DLPACK = 2
    __slots__ = ()

    @property
    def ptr(self) -> int:
        """The CUdeviceptr of the first byte."""
        return self._memory.handle + self._memory.offset

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (self.ptr if self.nbytes else 0, False),
            "strides": self._strides,
            "stream": None,  # complete when the view was made
            "version": 3,
        }

    def _check_stream(self, stream: Any) -> None:
        if stream == 0:
            raise ExportError("stream 0 is ambiguous in DLPack: 1 is the legacy default stream, 2 that of the thread")

    def cupy(self) -> Any:
        """A cupy.ndarray over the same memory."""
        check_order_of_bytes(self.dtype)
        return needed("cupy", "CuPy", self.space, "DLPack and the CUDA array interface need none").asarray(self)


class _ObjectView(DeviceView):
    """The copy at a device whose API has objects in the place of addresses: with DLPack alone, where the data is the
    object."""

    API: ClassVar[str]
    __slots__ = ()

    @property
    def handle(self) -> int:
        """The API's object, which begins `offset` bytes before the first byte."""
        return self._memory.handle

    @property
    def offset(self) -> int:
        return self._memory.offset

    def _check_stream(self, stream: Any) -> None:
        if stream not in (None, -1):
            raise ExportError(f"{self.API} has no streams in DLPack: None and -1 are allowed; {stream!r} was given")


class OpenCLView(_ObjectView):
    """The copy at an OpenCL device, with DLPack alone: `handle` and the data are the cl_mem."""

    DLPACK = 4
    API = "OpenCL"
    __slots__ = ()

    def pyopencl(self, queue: Any = None) -> Any:
        """A pyopencl.array.Array over the same memory, on `queue` or on the space's own."""
        return wrap(self._memory, self.shape, self.dtype, queue, self._strides)


class MetalView(_ObjectView):
    """The copy at a Metal device, with DLPack alone: `handle` and the data are the id<MTLBuffer>."""

    DLPACK = 8
    API = "Metal"
    __slots__ = ()

    def mlx(self) -> Any:
        """An mlx.core.array over the same memory."""
        return mlx_of(self.space).from_dlpack(self, copy=False)


def _metal_array(memory: _native.Memory, shape: tuple[int, ...], dtype: Any, _: Any, strides: Any) -> Any:
    has_metal = mlx_of(memory.space).metal.is_available()
    return MetalView(memory, shape, dtype, strides).mlx() if has_metal else memory


makers["metal"] = _metal_array


def _dlpack_type(dtype: np.dtype[Any]) -> tuple[int, int]:
    if dtype.name == "bfloat16":
        return _BFLOAT, 16
    if dtype.kind not in _DLPACK_CODES or not dtype.isnative:
        raise ExportError(f"DLPack has no type for {dtype}")
    return _DLPACK_CODES[dtype.kind], dtype.itemsize * 8
