"""Names that arrays have: those that buffers have as functions of NumPy, which are computed where the content is, and
those that they have not, which say what to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class ArrayMethods:
    """`b.sum(axis=0)` is `np.sum(b, axis=0)`, and so are the others."""

    __slots__ = ()

    if TYPE_CHECKING:
        host: NDArray[Any]
        all: Callable[..., Any]
        any: Callable[..., Any]
        argmax: Callable[..., Any]
        argmin: Callable[..., Any]
        max: Callable[..., Any]
        mean: Callable[..., Any]
        min: Callable[..., Any]
        prod: Callable[..., Any]
        std: Callable[..., Any]
        sum: Callable[..., Any]
        var: Callable[..., Any]

        def _value(self) -> NDArray[Any]: ...

    def ravel(self, *order: Any, **named: Any) -> NDArray[Any]:
        """The host's array with one axis; not a copy, unless that takes one, as for most rectangles."""
        return self.host.ravel(*order, **named)

    def flatten(self, *order: Any, **named: Any) -> NDArray[Any]:
        """The content as an array of one axis, of its own."""
        return self._value().flatten(*order, **named)


def _method_of(name: str) -> Any:
    function = getattr(np, name)

    def method(self: Any, *arguments: Any, **named: Any) -> Any:
        return function(self, *arguments, **named)

    method.__name__, method.__qualname__ = name, f"{ArrayMethods.__name__}.{name}"
    method.__doc__ = f"What np.{name} gives, with its arguments: computed where the content is."
    return method


for _name in ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var"):
    setattr(ArrayMethods, _name, _method_of(_name))


class NotHere:
    """In the place of a name that arrays have and buffers have not: says so, and what to write. `__getattr__` would do
    that in fewer lines, but then each use of any attribute takes half as long again."""

    def __init__(self, name: str, instead: str) -> None:
        self.name, self.instead = name, instead

    def __get__(self, of: object, kind: type) -> Any:
        if of is None:
            raise AttributeError(f"type object {kind.__name__!r} has no attribute {self.name!r}")
        raise AttributeError(f"{kind.__name__!r} object has no attribute {self.name!r}: {self.instead}")


_TO_HOST = "to_numpy() gives an array of the host"
_TO_DEVICE = '`prefetch("cuda:0")` starts to bring it there, and `with b.read("cuda:0") as array:` gives the array'
OF_OTHER_LIBRARIES = {
    **dict.fromkeys(("asnumpy", "cpu", "get", "numpy", "copy_to_host"), _TO_HOST),
    **dict.fromkeys(("cuda", "to"), _TO_DEVICE),
    "set": "copy_from(array) writes it",
}
