"""What a buffer is: the native class with its types, and what it says of itself. What can be done with one is in
`unibuf.buffer`; what only passes buffers on needs no more than this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np

from . import _native
from .errors import BufferNotAllocatedError, InvalidArgumentError
from .placement import Placement
from .state import BufferState
from .statistics import Statistics, from_native

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self

T = TypeVar("T", bound=np.generic)

READ, WRITE, READ_WRITE = 1, 2, 3  # what an access does, as the native module numbers it


if TYPE_CHECKING:
    B = TypeVar("B", bound="BufferBase[Any]")

    class Views(_native.Views, Generic[B]):
        """The native class, with its types."""

        def __call__(self, offset: int, count: int | None = None) -> B: ...
        def __getitem__(self, index: Any) -> B: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


class BufferBase(_native.Buffer, Generic[T]):
    """The base of UnifiedBuffer."""

    __slots__ = ()

    if TYPE_CHECKING:  # of the native class, with their types

        @property
        def host(self) -> NDArray[T]: ...
        @host.setter
        def host(self, array: NDArray[T]) -> None: ...
        @property
        def device(self) -> Any: ...
        @device.setter
        def device(self, array: Any) -> None: ...
        @property
        def state(self) -> BufferState: ...
        @property
        def shape(self) -> tuple[int, ...]: ...
        @property
        def dtype(self) -> np.dtype[T]: ...
        @property
        def nbytes(self) -> int: ...
        @property
        def size(self) -> int: ...
        @property
        def view(self) -> Views[Self]: ...
        @property
        def strides(self) -> tuple[int, ...]: ...
        def __init__(self, *_: Any, **__: Any) -> None: ...
        def __buffer__(self, flags: int, /) -> memoryview: ...
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any: ...
        def sync_to_host(self, offset: int = 0, count: int | None = None) -> None: ...
        def sync_to_device(self, offset: int = 0, count: int | None = None) -> None: ...
        def mark_dirty(self, space: str, offset: int = 0, count: int | None = None, stream: Any = None) -> None: ...
        def prefetch(
            self, space: str | None = None, offset: int = 0, count: int | None = None, stream: Any = None
        ) -> None: ...
        def discard(self, space: str) -> None: ...
        def discard_content(self) -> None: ...
        def io_view(self, mode: Literal["write", "read_write"] = "write") -> NDArray[T]: ...
        def free(self) -> None: ...
        def placement(self, space: str) -> Placement: ...
        def mark_host_dirty(self, offset: int = 0, count: int | None = None) -> None: ...
        def mark_device_dirty(self, offset: int = 0, count: int | None = None, stream: Any = None) -> None: ...
        @property
        def _strides(self) -> tuple[int, ...] | None: ...
        @property
        def _has_steps(self) -> bool: ...
        @property
        def _is_elsewhere(self) -> bool: ...
        def _fill(self, pattern: bytes, at: str | None = None) -> None: ...
        def _options(self) -> dict[str, Any]: ...
        def _copy_bytes_from(self, source: Any, offset: int = 0, at: str = "host") -> None: ...
        def _copy_bytes_to(self, target: Any, offset: int = 0, at: str | None = "host") -> None: ...
        def _current_at(self) -> str: ...
        def _statistics(self) -> dict[str, Any]: ...
        def _hold(self, space: str) -> _native.Memory: ...
        def _hold_copy(self, space: str) -> _native.Memory: ...
        def _is_current_at(self, space: str) -> bool: ...
        def _check_not_excluded(self, what: int) -> None: ...
        def _share(self, description: str) -> str: ...

    def __dir__(self) -> list[str]:
        """What can be looked at without moving a byte: completers and debuggers evaluate all of it."""
        return [name for name in super().__dir__() if name not in ("host", "device", "metal", "T")]

    def __delitem__(self, key: Any) -> None:
        raise ValueError(
            "elements of a buffer cannot be deleted, nor can those of an array: numpy.delete makes another"
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_allocated(self) -> bool:
        """Whether any copy exists."""
        return self.state is not BufferState.UNINITIALIZED

    @property
    def pinned(self) -> bool:
        """Whether the host's copy is page-locked now; `placement("host").reason` says why not."""
        return self.is_at("host") and self.placement("host").pinned

    def is_at(self, space: str) -> bool:
        """Whether there is a copy at a space, current or not."""
        try:
            self.placement(space)
        except BufferNotAllocatedError:
            return False
        return True

    def __sizeof__(self) -> int:
        """With the content, as that of an array is: by this Dask weighs what it keeps."""
        try:
            content = self.nbytes if self.is_allocated else 0
        except InvalidArgumentError:  # released to its pool
            content = 0
        return super().__sizeof__() + content

    @property
    def statistics(self) -> Statistics:
        """What was moved for this buffer, and why."""
        return from_native(self._statistics())

    def why(self) -> list[str]:
        """Sentences about what was copied of the buffer, and why, from the last events of each thread; oldest first."""
        return _native.why(self)

    def __repr__(self) -> str:
        about = ""
        try:
            about = f"shape={self.shape}, dtype={self.dtype}"
            about += f", strides={self._strides}" if self._strides else ""
            return f"{type(self).__name__}({about}, state={self.state})"
        except InvalidArgumentError as failure:
            return f"{type(self).__name__}({about}: {failure.args[0]})"


_native.add_properties(BufferBase)
