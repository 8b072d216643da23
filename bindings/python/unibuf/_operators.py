"""The operators of a buffer: NumPy's, which leave to the other operand what arrays leave to it. The native class calls
these, but for operands that are buffers, arrays and numbers alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

_Method = Callable[[Any, Any], Any]

_BINARY: tuple[_Method, ...] = (
    *(operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv, operator.floordiv, operator.mod),
    *(divmod, operator.pow, operator.lshift, operator.rshift, operator.and_, operator.xor, operator.or_),
)
_COMPARISONS: tuple[_Method, ...] = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
_USUAL = frozenset((bool, int, float, complex, str, bytes, list, tuple, np.ndarray))  # nothing is left to these


class ArrayOperators(NDArrayOperatorsMixin):
    """Operators by `__array_ufunc__`. An operand that has none and a higher `__array_priority__` than arrays, as sparse
    matrices of SciPy, gets the array of the host, and so does an array of a class of its own; one whose
    `__array_ufunc__` is None gets the buffer itself."""

    __slots__ = ()

    def __imatmul__(self: Any, other: Any) -> Any:
        if _is_left_to(other):
            return NotImplemented
        if self.ndim == 0 or np.ndim(other) < 2:  # a vector's product would be repeated in all rows
            raise ValueError(
                f"in-place matrix multiplication takes a matrix; {np.ndim(other)} axes were given, and {self.ndim} "
                "are those of the buffer"
            )
        axes: Any = [(-1,), (-2, -1), (-1,)] if self.ndim == 1 else [(-2, -1)] * 3
        return np.matmul(self, other, out=(self,), axes=axes)


def check_no_foreign(operand: Any) -> None:
    """Refuses what NumPy would take for an object, and compute with element by element."""
    if type(operand).__module__.startswith("pyopencl."):
        raise TypeError(
            "a buffer and an array of PyOpenCL have no common functions: use `device` of the buffer where its "
            "default device is that of the array, or `get()` of the array"
        )


def _is_left_to(other: Any) -> bool:
    """Whether an array leaves an operator to the other operand for its `__array_priority__`."""
    kind = type(other)
    if kind in _USUAL or isinstance(other, np.generic) or hasattr(kind, "__array_ufunc__"):
        return False
    check_no_foreign(other)
    return bool(getattr(other, "__array_priority__", -1) > 0)  # 0 is that of arrays


def _knows_operators(other: Any) -> bool:
    """Whether it is an array of a class that has operators of its own, as np.matrix has, but no functions."""
    kind = type(other)
    if kind is np.ndarray or not isinstance(other, np.ndarray):
        return False
    return bool(kind.__array_ufunc__ == np.ndarray.__array_ufunc__)


def _is_for_arrays(other: Any) -> bool:
    return _is_left_to(other) or _knows_operators(other)


def _forward(method: _Method, of_arrays: _Method) -> _Method:
    def apply(self: Any, other: Any) -> Any:
        return of_arrays(self.host, other) if _is_for_arrays(other) else method(self, other)

    return apply


def _reflected(method: _Method, of_arrays: _Method) -> _Method:
    def apply(self: Any, other: Any) -> Any:
        # The other may know arrays, and no buffers.
        return of_arrays(other, self.host) if _is_for_arrays(other) else method(self, other)

    return apply


def _in_place(method: _Method) -> _Method:
    def apply(self: Any, other: Any) -> Any:
        return NotImplemented if _is_left_to(other) else method(self, other)

    return apply


def _equality(method: _Method, of_arrays: _Method) -> _Method:
    def apply(self: Any, other: Any) -> Any:
        if _is_for_arrays(other):
            return of_arrays(self.host, other)
        try:
            return method(self, other)
        except TypeError:  # no function compares the two types: arrays know more than it
            check_no_foreign(other)
            return of_arrays(self.host, other)

    return apply


def _set(name: str, make: Callable[..., _Method], *of_arrays: _Method) -> None:
    method = make(getattr(NDArrayOperatorsMixin, name), *of_arrays)
    method.__name__, method.__qualname__ = name, f"{ArrayOperators.__name__}.{name}"
    setattr(ArrayOperators, name, method)


for _each in _BINARY:
    _name = _each.__name__.strip("_")
    _set(f"__{_name}__", _forward, _each)
    _set(f"__r{_name}__", _reflected, _each)
    if _each not in (divmod, operator.matmul):
        _set(f"__i{_name}__", _in_place)
for _each in _COMPARISONS:
    _set(f"__{_each.__name__}__", _equality if _each in (operator.eq, operator.ne) else _forward, _each)
