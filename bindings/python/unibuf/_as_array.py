"""What a buffer does as NumPy's arrays do. Results are plain arrays of the side where the data is; what is computed
into a buffer (`out=`, in-place operators) is written under a lease."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache
from inspect import Signature, signature
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._base import READ, READ_WRITE, BufferBase, T
from ._device_arrays import FUNCTIONS_IN, current_stream, has_function
from ._exchange import check_no_exchange
from ._failed_export import raise_kept
from ._methods import OF_OTHER_LIBRARIES, ArrayMethods, NotHere
from ._operators import check_no_foreign
from .accelerator import default_device
from .errors import AccessConflictError, InvalidArgumentError, MissingAttributeError, UnibufError
from .state import BufferState

if TYPE_CHECKING:
    from numpy.lib.mixins import NDArrayOperatorsMixin as _OperatorsOfNative
    from numpy.typing import DTypeLike, NDArray
else:
    _OperatorsOfNative = object  # the native class has them

_AT_DEVICE = (BufferState.DEVICE_DIRTY, BufferState.DEVICE_ONLY)
# What these return is new, and they write to nothing but `out`: a device may do them. What others write to its array,
# or to a view of it that they return, nobody would find.
_AT_DEVICE_TOO = frozenset(
    getattr(np, name)
    for name in (
        "all allclose amax amin any append argmax argmin argpartition argsort argwhere array_equal average bincount "
        "clip compress concatenate convolve copy corrcoef correlate count_nonzero cov cross cumprod cumsum delete "
        "digitize dot empty_like flatnonzero full_like gradient inner insert interp intersect1d isclose isin kron "
        "lexsort max mean min nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum "
        "nanvar nonzero ones_like outer pad partition prod ptp repeat roll round searchsorted select setdiff1d sort "
        "stack std sum take tensordot tile trace union1d unique var vdot vstack hstack where zeros_like"
    ).split()
    if hasattr(np, name)
)
_OF_SEQUENCES = (np.concatenate, np.hstack, np.select, np.stack, np.vstack)  # a device takes lists of arrays for these
_GO_ANYWHERE = (int, float, complex, np.generic, str, type, np.dtype)  # numbers, and what says how to compute
_PLAIN = frozenset((bool, int, float, complex, str, type, type(None)))
_LEAST_TO_READ: dict[Any, Callable[[Any], Any]] = {
    np.shape: lambda b: b.shape,
    np.ndim: lambda b: b.ndim,
    np.size: lambda b: b.size,
}


class ArrayBuffer(BufferBase[T], ArrayMethods, _OperatorsOfNative):
    """The part of UnifiedBuffer that arrays have, too."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_numpy(self) -> NDArray[T]: ...

    def _array_ufunc(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        """What the native `__array_ufunc__` leaves: other methods than calls, functions with several results, operands
        that NumPy has to ask, and what is computed at a device."""
        for each in inputs:
            check_no_foreign(each)
        if out:
            options["out"] = out
        where = _side_of(ufunc, inputs, options) if method == "__call__" and len(out) < 2 else "host"
        return _computed(getattr(ufunc, method), inputs, options, inputs[:1] if method == "at" else out, where)

    def __array_function__(
        self, function: Callable[..., Any], _: Iterable[type], arguments: Any, options: dict[str, Any]
    ) -> Any:
        if function in _LEAST_TO_READ and arguments == (self,) and not options:
            return _LEAST_TO_READ[function](self)
        if function in _AT_DEVICE_TOO and len(arguments) == 1 and arguments[0] is self and self._is_for_host(options):
            with self.read("host") as array:  # as _computed() does, at less cost
                return function(array, **options)
        out = _out_of(function, arguments, options)
        if function in _AT_DEVICE_TOO and out is None:
            return _computed(function, arguments, options, (), _side_of(function, arguments, options))
        result = function(*_shown(arguments), **{name: _shown(each) for name, each in options.items()})
        return out if isinstance(out, ArrayBuffer) else result

    def _is_for_host(self, options: dict[str, Any]) -> bool:
        """Whether a function of this buffer and such options, which have no arrays, is computed at the host."""
        if not all(type(each) in _PLAIN for each in options.values()):
            return False
        return default_device().partition(":")[0] not in FUNCTIONS_IN or self.state not in _AT_DEVICE

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """NumPy's, whose functions take buffers. Raises where the installed one has no such namespace."""
        empty: Any = np.empty(0)
        if not hasattr(empty, "__array_namespace__"):
            raise MissingAttributeError(f"the array API needs NumPy 2.1; {np.__version__} is installed")
        return empty.__array_namespace__(api_version=api_version)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth of {self.size} elements is ambiguous: compare, and use all() or any()")
        return bool(self.item())

    def __int__(self) -> int:
        return int(self._only())

    def __float__(self) -> float:
        return float(self._only())

    def __complex__(self) -> complex:
        return complex(self._only())

    def __index__(self) -> int:
        if self.shape:
            raise TypeError(f"only a buffer without axes is an index; this one has shape {self.shape}")
        return index(self._only())

    def _only(self) -> Any:
        """The array of one element: which ones are numbers depends on the NumPy that is installed."""
        if self.size != 1:
            raise TypeError(f"only a buffer of one element is a number; this one has {self.size}")
        return self._array_to_read()

    def _array_to_read(self) -> NDArray[T]:
        """The host's array for whoever reads it at once. Inside a block of this thread that reads, where nobody gets an
        array that may be written, it is one for reading, which that block keeps current."""
        try:
            return self.host
        except AccessConflictError:
            block: _native.Access[NDArray[T]] = _native.Access(self, READ, "host", 0, None, None, None)
            with block as array:
                return array

    def _value(self) -> NDArray[T]:
        """An array for whoever takes what is in it and drops it: that of a part need not come to the host to stay."""
        return self.to_numpy() if self._is_elsewhere else self._array_to_read()

    def __format__(self, form: str) -> str:
        return super().__format__(form) if self.shape else format(self._array_to_read(), form)

    def __dir__(self) -> list[str]:
        return [each for each in super().__dir__() if each not in _not_here or hasattr(type(self), each)]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a buffer without axes")
        return self.shape[0]

    def __contains__(self, value: Any) -> bool:
        return value in self._array_to_read()

    def __getitem__(self, key: Any) -> Any:
        try:
            return self.host[key]
        except AccessConflictError:
            array = self._array_to_read()
            found = array[key]
            if isinstance(found, np.void) or np.may_share_memory(array, found):
                raise
            return found

    def __setitem__(self, key: Any, value: Any) -> None:
        host = self.host
        if isinstance(value, np.ndarray) and host.ndim > 1:
            check_no_exchange(host, key, value)
        host[key] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.host)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        raise_kept(self)
        if dtype is not None and np.dtype(dtype) != self.dtype:
            if copy is False:
                raise ValueError(f"{self.dtype} as {np.dtype(dtype)} takes a copy, and copy=False was asked for")
            return self.host.astype(dtype)
        return self.host.copy() if copy else self.host

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def astype(self, dtype: DTypeLike, **options: Any) -> NDArray[Any]:
        """The host's content as an array of another type."""
        array = self._array_to_read() if options.get("copy", True) else self.host
        return array.astype(dtype, **options)

    def reshape(self, *shape: Any, **options: Any) -> NDArray[T]:
        """The host's array in another shape; not a copy, unless that takes one, as for most rectangles."""
        return self.host.reshape(*shape, **options)

    def copy(self) -> NDArray[T]:
        """The content as an array of its own, of the host. copy.copy() makes a buffer."""
        return self.to_numpy() if self._is_elsewhere else self._array_to_read().copy()

    def item(self, *index: Any) -> Any:
        """One element, as a Python object."""
        return self._value().item(*index)

    def tolist(self) -> Any:
        """The elements, as Python objects in lists of lists."""
        return self._value().tolist()

    def __repr__(self) -> str:
        about = super().__repr__()
        values = self._values(prefix=f"{type(self).__name__}(")
        return about.replace("(", f"({values}, ", 1) if values else about

    def _repr_html_(self) -> str:
        """For notebooks: what it is, where its content is, what moved last, and the content if that is at the host."""
        from html import escape  # most programs show none

        try:
            rows = [("shape", self.shape), ("dtype", self.dtype), ("bytes", f"{self.nbytes:,}"), ("state", self.state)]
        except InvalidArgumentError:  # released to its pool, or not made yet
            return f"<pre>{escape(repr(self))}</pre>"
        for space in dict.fromkeys(("host", default_device())):  # once, where the host is the default device
            if self.is_at(space):
                rows.append((space, self.placement(space).placement))
        for from_, to, nbytes, why in _native.last_transfers(self, 3):
            rows.append(("moved", f"{nbytes:,} bytes, {from_} to {to}, for {why}"))
        table = "".join(f"<tr><th>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
        values = self._values()
        return f"<table>{table}</table>" + (f"<pre>{escape(values)}</pre>" if values else "")

    def _values(self, prefix: str = "") -> str:
        """The content where it is at the host and nobody writes it; else nothing. Neither moves bytes nor waits."""
        try:
            if self.state in (BufferState.UNINITIALIZED, BufferState.MIXED, *_AT_DEVICE):
                return ""
            block: _native.Access[Any] = _native.Access(self, READ, "host", 0, None, 0.0, None)
            with block as array:
                return np.array2string(array, separator=", ", threshold=100, prefix=prefix)
        except UnibufError:  # held for writing, or released to its pool
            return ""

    @property
    def T(self) -> NDArray[T]:  # noqa: N802, as NumPy has it
        """The host's array, transposed."""
        return self.host.T


_not_here = OF_OTHER_LIBRARIES | {
    name: f"arrays have it, as `host.{name}`"
    for name in dir(np.ndarray)
    if name[0] != "_" and not hasattr(ArrayBuffer, name)
}
for _name, _instead in _not_here.items():
    setattr(ArrayBuffer, _name, NotHere(_name, _instead))


@lru_cache
def _signature(function: Callable[..., Any]) -> Signature:
    return signature(function)


def _out_of(function: Callable[..., Any], arguments: Any, options: dict[str, Any]) -> Any:
    """What is given for the parameter `out`, by its name or its place; None where nothing is."""
    if len(arguments) < 2 or "out" in options:
        return options.get("out")
    try:
        return _signature(function).bind(*arguments, **options).arguments.get("out")
    except (TypeError, ValueError):  # NumPy will say what is wrong
        return None


def _buffers_in(arguments: Iterable[Any]) -> list[ArrayBuffer[Any]]:
    """The buffers among arguments, and in lists and tuples of them."""
    found: list[ArrayBuffer[Any]] = []
    for each in arguments:
        if isinstance(each, ArrayBuffer):
            found.append(each)
        elif isinstance(each, (list, tuple)):
            found += _buffers_in(each)
    return found


def _side_of(function: Any, arguments: Any, options: dict[str, Any]) -> str:
    """Where that is computed: at the default device if the function is there and takes all operands there, and one of
    them is an array of a device, or that device alone has what is newest of all buffers."""
    device = default_device()
    if not has_function(device, function.__name__):
        return "host"
    given = [*arguments, *(each for name, each in options.items() if name not in ("axis", "axes", "out"))]
    if function in _OF_SEQUENCES:
        given = [part for each in given for part in (each if isinstance(each, (list, tuple)) else (each,))]
    given += options.get("out") or ()
    buffers = [each for each in given if isinstance(each, ArrayBuffer)]
    others = [each for each in given if not (isinstance(each, (ArrayBuffer, *_GO_ANYWHERE)) or each is None)]
    if not all(each.dtype.kind in "biufc" and each.dtype.isnative for each in buffers) or not all(
        map(_is_of_device, others)
    ):
        return "host"
    return device if others or all(each.state in _AT_DEVICE for each in buffers) else "host"


def _is_of_device(array: Any) -> bool:
    """Whether it is an array of a device: those of CuPy refuse what is at the host, but for numbers."""
    return hasattr(array, "__cuda_array_interface__")


def _computed(call: Callable[..., Any], arguments: Any, options: dict[str, Any], written: Any, where: str) -> Any:
    """What a call gives for arrays in the place of buffers. Those of `out` are its results."""
    with ExitStack() as leases:
        arrays = _leased(_buffers_in((*arguments, *options.values())), _buffers_in(written), where, leases)
        shown = {name: _with(arrays, each) for name, each in options.items()}
        result = call(*(_with(arrays, each) for each in arguments), **shown)
        out = options.get("out")
        if out:
            results = result if isinstance(result, tuple) else (result,)
            result = tuple(new if place is None else place for place, new in zip(out, results, strict=True))
            result = result if len(result) > 1 else result[0]
            del results
        shown.clear()
        arrays.clear()
    return result


def _leased(
    buffers: Sequence[ArrayBuffer[Any]], written: Sequence[ArrayBuffer[Any]], where: str, leases: ExitStack
) -> dict[int, Any]:
    """An array of each buffer, by the buffer's id(). Each has a lease; but where views of one buffer are used together,
    and one of them is written, no leases go together, and it is the host's array that is used. All threads take their
    leases in one order, so that none waits for another one that waits for it."""
    arrays: dict[int, Any] = {}
    changed = {each.id for each in written}
    for each in sorted(buffers, key=lambda each: each.id):
        if id(each) in arrays:
            continue
        if each.id in changed and any(other is not each and other.id == each.id for other in buffers):
            arrays[id(each)] = each.host
            continue
        what = READ_WRITE if each.id in changed else READ
        lease: _native.Access[Any] = _native.Access(each, what, where, 0, None, None, current_stream(where))
        arrays[id(each)] = leases.enter_context(lease)
    return arrays


def _with(arrays: dict[int, Any], argument: Any) -> Any:
    """The argument, with an array in place of each buffer in it."""
    if isinstance(argument, (list, tuple)) and _buffers_in(argument):
        shown = [_with(arrays, each) for each in argument]
        return shown if isinstance(argument, list) else tuple(shown)
    return arrays.get(id(argument), argument)


def _shown(argument: Any) -> Any:
    """The argument, with the host's array in place of each buffer in it."""
    return _with({id(each): each.host for each in _buffers_in((argument,))}, argument)
