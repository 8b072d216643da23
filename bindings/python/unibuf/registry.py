"""Buffers by name, for parts of a program that share no variables; C++ sees the same names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary

from . import _native
from .buffer import UnifiedBuffer


class Registry:
    """A mapping from names to buffers. A name does not keep its buffer, unless `keep` asks for that: it goes with the
    last handle, and with the release to a pool. Any thread."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        # What the library cannot know of a buffer is its object: dtypes with fields, classes made from UnifiedBuffer.
        self._known: WeakValueDictionary[str, UnifiedBuffer[Any]] = WeakValueDictionary()

    def add(self, name: str, buffer: UnifiedBuffer[Any], *, keep: bool = False) -> None:
        """Raises InvalidArgumentError where the name is taken, or the buffer has more than 8 axes."""
        _native.registry_add(name, buffer, keep)
        self._known[name] = buffer

    def get(self, name: str) -> UnifiedBuffer[Any] | None:
        """None where nobody has the name."""
        found: UnifiedBuffer[Any] | None = _native.registry_find(UnifiedBuffer, name)
        known = self._known.get(name)
        return known if found is not None and known is not None and known.id == found.id else found

    def remove(self, name: str) -> bool:
        """Takes the name away. Returns whether there was one."""
        return _native.registry_remove(name)

    def names(self) -> list[str]:
        """Those that have a buffer now."""
        return _native.registry_names()

    def __getitem__(self, name: str) -> UnifiedBuffer[Any]:
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, buffer: UnifiedBuffer[Any]) -> None:
        """Takes the name away from another buffer."""
        self.remove(name)
        self.add(name, buffer)

    def __delitem__(self, name: str) -> None:
        if not self.remove(name):
            raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())


registry = Registry()
