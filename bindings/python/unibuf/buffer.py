"""One array that lives on the host and on devices at the same time."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypedDict, TypeVar, overload

import numpy as np

from . import _native
from ._array_likes import as_array, bytes_of
from ._as_array import ArrayBuffer
from ._base import READ, READ_WRITE, T
from ._device_arrays import copy_at_device, cuda_array, mlx_of
from ._dtypes import description_of
from ._opencl_copies import opencl_bytes
from ._pickle import reduce, token
from ._shared import note
from .errors import (
    BufferNotAllocatedError,
    DeviceUnavailableError,
    InvalidArgumentError,
    MissingAttributeError,
    UnsupportedError,
)
from .views import CudaView, DeviceView, ExportDeviceError, ExportError, MetalView, OpenCLView

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike, NDArray
    from typing_extensions import Self, Unpack

    from ._native import Access

    Shape = SupportsIndex | Sequence[SupportsIndex]

    class OpenCLArray(Protocol):
        """A pyopencl.array.Array."""

        base_data: Any
        offset: int
        queue: Any

    class OpenCLMemory(Protocol):
        """A pyopencl.MemoryObjectHolder: a Buffer, for one."""

        @property
        def int_ptr(self) -> int: ...

    class Options(TypedDict, total=False):
        pinned: bool
        access: str
        hint: str | None
        device: str | None
        tracking: str
        uninitialized: bool

    class Part(TypedDict, total=False):
        offset: int
        count: int | None
        timeout: float | None


V = TypeVar("V", bound=DeviceView)

_DLPACK_HOST = (1, 0)
_IN_BUFFERS = "biufc"  # the kinds of elements that Python's protocol of buffers has


class UnifiedBuffer(ArrayBuffer[T]):
    """A row-major array of `shape` that knows which of its bytes are current where.

    No memory is taken before something is accessed. Bytes move only when they are touched where they are stale; what is
    written through an array of `host`, whenever it was obtained, is found. Nothing written yet reads as zero.

    Args:
        shape: The extents, a tuple of ints or an int.
        dtype: Of any plain data; what refers to Python objects is refused with TypeError.
        pinned: Keep the host's copy page-locked, for faster CUDA transfers. Without CUDA it is not, and
            `placement("host")` says why.
        access: What the host does with it: "read_write", "read_only" (a device's output), "write_only" (its input).
            "constant" is for from_numpy alone: nobody writes it.
        hint: Who should have the memory: None, "cpu_preferred", "gpu_preferred", "coherent" or "streaming".
        device: The space that the buffer is for: how its memory is placed goes by that. None is the default device,
            whose copy `device` is in any case; a block names its space.
        tracking: "auto", or "off": the host counts as written as long as arrays of it are held.
        uninitialized: Leave what nobody has written as it is.

    All methods may be called from any thread; those that wait or move bytes let other Python threads run. `offset` and
    `count` are elements in row-major order; a `space` is named as in devices(): "host", "cuda:0", "opencl:0".
    """

    __slots__ = ()

    if TYPE_CHECKING:  # of the native class, with its types

        @overload
        def __init__(self: UnifiedBuffer[np.float32], shape: Shape, **options: Unpack[Options]) -> None: ...
        @overload
        def __init__(self, shape: Shape, dtype: type[T] | np.dtype[T], **options: Unpack[Options]) -> None: ...
        @overload
        def __init__(self: UnifiedBuffer[Any], shape: Shape, dtype: DTypeLike, **options: Unpack[Options]) -> None: ...
        def __init__(self, *_: Any, **__: Any) -> None: ...

    # Where the content is

    def cuda(self, index: int = 0) -> CudaView:
        """The copy at a CUDA device, current now, for whoever takes the CUDA array interface or DLPack."""
        return self._view_at(f"cuda:{index}", CudaView)

    def opencl(self, index: int = 0) -> OpenCLView:
        """The copy at an OpenCL device, current now, for whoever takes a cl_mem or DLPack."""
        return self._view_at(f"opencl:{index}", OpenCLView)

    def metal_view(self, index: int = 0) -> MetalView:
        """The copy at a Metal device, current now, for whoever takes an id<MTLBuffer> or DLPack."""
        return self._view_at(f"metal:{index}", MetalView)

    def _view_at(self, space: str, kind: type[V]) -> V:
        while True:
            strides = self._strides
            memory = self._hold(space)
            if self._strides == strides:  # another thread may have called free() meanwhile: all elements are there then
                return kind(memory, self.shape, self.dtype, strides)

    @property
    def metal(self) -> Any:
        """An mlx.core.array over the buffer's memory at the first Metal device, current now; macOS only. What a kernel
        writes through it, mark_metal_dirty tells. An MLX without Metal takes a copy, with a RuntimeWarning."""
        try:
            view = self.metal_view()
            mlx = mlx_of(view.space)
        except DeviceUnavailableError as failure:
            raise MissingAttributeError(_no_metal(failure)) from failure
        if mlx.metal.is_available():
            return view.mlx()
        warnings.warn("this MLX has no Metal, so that `metal` is a copy", RuntimeWarning, stacklevel=2)
        return mlx.array(self.host)

    def allocate(self, *, host: bool = True, device: bool = True) -> Self:
        """Makes the copies now that the first accesses would make. Returns the buffer."""
        if host:
            self._hold("host")
        if device:
            _ = self.device
        return self

    def share(self) -> str:
        """Puts the host's copy into memory that other processes of this machine can have, and names it for
        `unibuf.attach`. The content is copied there once; device copies go. A second call only gives the name, which
        is good as long as this process has the buffer. Raises AccessConflictError while arrays of it are held,
        InvalidArgumentError for a view."""
        if sys.platform != "linux":
            raise UnsupportedError("memory that processes share is a memfd, which needs Linux")
        shape = ",".join(map(str, self.shape))
        return note(self, self._share(f"{self.dtype.str} {shape}\n{(description_of(self.dtype), self._options())!r}"))

    # Access for a while. The native class has these, and tells what they are.

    if TYPE_CHECKING:

        @overload
        def read(self, space: Literal["host"], stream: Any = None, **part: Unpack[Part]) -> Access[NDArray[T]]: ...
        @overload
        def read(self, space: str | None = None, stream: Any = None, **part: Unpack[Part]) -> Access[Any]: ...
        def read(self, *_: Any, **__: Any) -> Access[Any]: ...
        @overload
        def write(self, space: Literal["host"], stream: Any = None, **part: Unpack[Part]) -> Access[NDArray[T]]: ...
        @overload
        def write(self, space: str | None = None, stream: Any = None, **part: Unpack[Part]) -> Access[Any]: ...
        def write(self, *_: Any, **__: Any) -> Access[Any]: ...
        @overload
        def read_write(
            self, space: Literal["host"], stream: Any = None, **part: Unpack[Part]
        ) -> Access[NDArray[T]]: ...
        @overload
        def read_write(self, space: str | None = None, stream: Any = None, **part: Unpack[Part]) -> Access[Any]: ...
        def read_write(self, *_: Any, **__: Any) -> Access[Any]: ...

    def bound(
        self,
        space: str | None = None,
        *,
        access: str = "read_write",
        offset: int = 0,
        count: int | None = None,
        timeout: float | None = None,
        stream: Any = None,
        told: bool = False,
        pause: Callable[[], object] | None = None,
        resume: Callable[[], object] | None = None,
    ) -> _native.StandingHold:
        """`with buffer.bound("cuda:0") as hold:` the device may "read" or "read_write" at any time, and tells nobody.

        An access elsewhere waits for its work (on `stream`, or all), takes just the bytes that it asks for, and gives
        them back when it ends; `told`: with hold.resume(). `pause` and `resume` stop other threads that work there, and
        let them go on; they must not use the buffer. What `pause` raises, the access raises."""
        return _native.StandingHold(self, space, access, offset, count, timeout, stream, told, pause, resume)

    # Explicit

    def mark_metal_dirty(self) -> None:
        """Says that Metal's bytes stand. Raises BufferNotAllocatedError where Metal has none."""
        if not self.is_allocated:
            raise BufferNotAllocatedError(
                "to mark the copy at metal dirty was asked for, but the buffer has no copy yet"
            )
        try:
            self.mark_dirty("metal:0")
        except DeviceUnavailableError as failure:
            raise UnsupportedError(_no_metal(failure)) from failure

    def synchronize(self) -> None:
        """Makes the host and the default device current, whichever lacks something."""
        self.sync_to_host()
        self.sync_to_device()

    async def ensure_on_host(self) -> None:
        """Makes the host current while the event loop goes on. Raises AccessConflictError inside a block of this thread
        that excludes it."""
        self._check_not_excluded(READ)
        await _aside(self._hold, "host")

    async def ensure_on_device(self) -> None:
        """Makes the default device current while the event loop goes on. Raises AccessConflictError inside a block of
        this thread that excludes it."""
        self._check_not_excluded(READ_WRITE if _native.default_device() == "host" else READ)
        await _aside(lambda: self.allocate(host=False))

    # Whole arrays

    def fill(self, value: Any, at: str | None = None) -> Self:
        """Sets every element, on a device if one is current, and moves nothing. With `at`, a space such as "opencl:0",
        the content is made there: for what a device uses first. Returns the buffer."""
        pattern = np.zeros((), self.dtype)  # also between fields
        pattern[()] = value
        self._repeat(pattern, at)
        return self

    def zeros(self) -> Self:
        """Sets every byte to zero. Returns the buffer."""
        self._repeat(np.zeros((), self.dtype))
        return self

    def _repeat(self, pattern: NDArray[Any], at: str | None = None) -> None:
        if self._has_steps and at in (None, "host"):
            self._assign(pattern)
        elif self.nbytes:
            self._fill(pattern.tobytes(), at)

    def _assign(self, source: NDArray[Any]) -> None:
        """Writes all elements at the host."""
        if self._has_steps and self._options()["access"] == "write_only":  # a block would read what lies between
            np.copyto(self.host, source, casting="same_kind")
            return
        with self.write("host") as array:
            np.copyto(array, source, casting="same_kind")
            del array

    def copy_from(self, data: ArrayLike | UnifiedBuffer[Any] | OpenCLArray | OpenCLMemory) -> Self:
        """Copies an array of the same shape, as numpy.copyto does: safe casts, and those within a kind; TypeError for
        others. What is in a CUDA device's memory is copied there, by CuPy. An array of PyOpenCL is copied behind the
        work on its queue, at the device where its context is `device.context`; so are the bytes of a memory object,
        which has to be of the buffer's size, with no work on it but of `device.queue`. Returns the buffer."""
        at_device = None
        if not isinstance(data, (np.ndarray, UnifiedBuffer)):
            of_opencl = opencl_bytes(data)
            if of_opencl is not None:
                of_opencl.copy_into(self)
                return self
            at_device = cuda_array(data)
        source = as_array(data) if at_device is None else at_device
        if source.shape != self.shape:
            raise InvalidArgumentError(f"data of shape {source.shape} was to be copied into a buffer of {self.shape}")
        if not np.can_cast(source.dtype, self.dtype, "same_kind"):
            raise TypeError(f"data of {source.dtype} cannot be cast to {self.dtype} within its kind")
        if at_device is not None:
            if self.nbytes:
                copy_at_device(self.write, at_device)
        elif self._takes_bytes_of(source) and source.flags.aligned:
            self._copy_bytes_from(bytes_of(source))
        else:
            self._assign(source)
        return self

    def copy_to(self, out: NDArray[Any] | UnifiedBuffer[Any] | OpenCLArray | OpenCLMemory) -> None:
        """Copies into an array or a buffer of the same shape, with the same casts, also into what PyOpenCL has, as
        `copy_from` does; an array there has to be C-contiguous."""
        if isinstance(out, UnifiedBuffer):
            out.copy_from(self)
            return None
        if not isinstance(out, np.ndarray):
            of_opencl = opencl_bytes(out)
            if of_opencl is None:
                raise TypeError(
                    "copy_to takes a numpy.ndarray, a buffer, or an array or a memory object of PyOpenCL; "
                    f"{type(out).__name__} was given"
                )
            return of_opencl.copy_out_of(self)
        if out.shape != self.shape:
            raise InvalidArgumentError(f"a buffer of {self.shape} was to be copied into an array of shape {out.shape}")
        if self._takes_bytes_of(out) and out.flags.writeable:
            self._copy_bytes_to(bytes_of(out), at=None)
        else:
            with self.read("host") as array:
                np.copyto(out, array, casting="same_kind")
                del array

    def to_numpy(self) -> NDArray[T]:
        """The content as an array of its own."""
        result = np.empty(self.shape, self.dtype)
        if self._has_steps or self.dtype.kind not in _IN_BUFFERS:
            self.copy_to(result)
        else:
            self._copy_bytes_to(result, at=None)
        return result

    def _takes_bytes_of(self, array: NDArray[Any]) -> bool:
        return array.dtype == self.dtype and bool(array.flags.c_contiguous) and not self._has_steps

    # For other libraries

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK_HOST  # `__dlpack__` takes the host's copy, and so moves; this does not

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Of the host's copy, or, for a `dl_device` of CUDA, OpenCL or Metal, of the one there. Raises BufferError
        where that cannot be."""
        if dl_device is not None and (int(dl_device[0]), dl_device[1]) != _DLPACK_HOST:
            return self._view_for(*dl_device).__dlpack__(stream=stream, max_version=max_version, copy=copy)
        if stream is not None:
            raise ExportError(f"the host's copy is exported on no stream; {stream!r} was given")
        host: NDArray[Any] = self.host
        asked: dict[str, Any] = {"max_version": max_version, "copy": copy}
        # Before 2.1 NumPy knows neither.
        return host.__dlpack__(**{name: value for name, value in asked.items() if value is not None})

    def _view_for(self, kind: Any, index: int) -> DeviceView:
        makers: dict[int, Callable[[int], DeviceView]] = {
            CudaView.DLPACK: self.cuda,
            OpenCLView.DLPACK: self.opencl,
            MetalView.DLPACK: self.metal_view,
        }
        if int(kind) not in makers:
            raise ExportError(
                f"a buffer exports the host's copy, {_DLPACK_HOST}, that of CUDA, (2, N), of OpenCL, (4, N), or of "
                f"Metal, (8, N), not to {(kind, index)}"
            )
        try:
            return makers[int(kind)](index)
        except DeviceUnavailableError as failure:
            raise ExportDeviceError(*failure.args) from failure
        except InvalidArgumentError as failure:
            raise ExportError(*failure.args) from failure

    def __reduce_ex__(self, protocol: Any) -> Any:
        return reduce(self, int(protocol))

    def __dask_tokenize__(self) -> Any:
        return token(self)


async def _aside(call: Callable[..., object], *arguments: Any) -> None:
    """Calls it on a thread of its own: the executor's are few, and who is to end the wait may need one. Where this is
    cancelled, the call ends at the next look of its wait."""
    import asyncio  # most programs need none

    is_over = False
    line = _native.running_line()  # no line of the program runs on the other thread
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def check() -> None:
        if is_over:
            raise asyncio.CancelledError

    def end(failure: BaseException | None) -> None:
        if not done.done():
            done.set_result(None) if failure is None else done.set_exception(failure)

    def work() -> None:
        failure = None
        try:
            _native.call_while(check, line, call, *arguments)
        except BaseException as raised:  # noqa: BLE001  # it is the awaiting task's
            failure = raised
        with suppress(RuntimeError):  # the loop was closed: nobody waits any more
            loop.call_soon_threadsafe(end, failure)

    Thread(target=work, name="unibuf-await").start()
    try:
        await done
    finally:
        is_over = True


def _no_metal(why: Exception) -> str:
    return f"metal is not available here: {why.args[0]}"
