"""Buffers by name, for parts of a program that share no variables; C++ sees the same names."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from threading import RLock
from typing import Any, ClassVar, TypeVar, overload
from weakref import WeakValueDictionary

import numpy as np

from . import _native
from .buffer import UnifiedBuffer
from .errors import InvalidArgumentError

Default = TypeVar("Default")


class Registry(MutableMapping[str, UnifiedBuffer[Any]]):
    """A mapping from names to buffers. A name does not keep its buffer, unless `keep` asks for that: it goes with the
    last handle, and with the release to a pool. Any thread."""

    __slots__ = ("_known",)

    # By the name, of the buffer with that id: dtypes that the library cannot know, such as those with fields.
    _dtypes: ClassVar[dict[str, tuple[int, np.dtype[Any]]]] = {}
    _room: ClassVar[int] = 100  # before those that are gone are looked for
    # What is known here of a name and what the library knows are changed and looked at together. Whoever has it may be
    # interrupted by a finalizer that comes here.
    _one_at_a_time: ClassVar[RLock] = RLock()

    def __init__(self) -> None:
        # What the library cannot know of a buffer is its object, which may be of a class made from UnifiedBuffer.
        self._known: WeakValueDictionary[str, UnifiedBuffer[Any]] = WeakValueDictionary()

    def add(self, name: str, buffer: UnifiedBuffer[Any], *, keep: bool = False) -> None:
        """Raises InvalidArgumentError where the name is taken, or the buffer has more than 8 axes."""
        self._add(name, buffer, keep=keep, instead=False)

    def _add(self, name: str, buffer: UnifiedBuffer[Any], *, keep: bool, instead: bool) -> None:
        with self._one_at_a_time:
            _native.registry_add(name, buffer, keep, instead)
            self._known[name] = buffer
            if np.dtype(buffer.dtype.str) != buffer.dtype:
                self._note(name, buffer)

    @overload
    def get(self, name: str) -> UnifiedBuffer[Any] | None: ...
    @overload
    def get(self, name: str, default: Default) -> UnifiedBuffer[Any] | Default: ...
    def get(self, name: str, default: Any = None) -> Any:
        """`default` where nobody has the name."""
        found = self._find(name)
        return default if found is None else found

    def _find(self, name: str) -> UnifiedBuffer[Any] | None:
        with self._one_at_a_time:
            found: UnifiedBuffer[Any] | None = _native.registry_find(UnifiedBuffer, name, self._dtypes.get(name))
            known = self._known.get(name)
        if found is None or known is None:
            return found
        try:
            return known if known.id == found.id else found
        except InvalidArgumentError:  # it was released to its pool, and somebody else has the name
            return found

    @classmethod
    def _note(cls, name: str, buffer: UnifiedBuffer[Any]) -> None:
        if len(cls._dtypes) >= cls._room:
            there = set(_native.registry_names())
            for each in cls._dtypes.keys() - there:
                cls._dtypes.pop(each, None)
            cls._room = 2 * len(cls._dtypes) + 100
        cls._dtypes[name] = buffer.id, buffer.dtype

    def remove(self, name: str) -> bool:
        """Takes the name away. Returns whether there was one."""
        return _native.registry_remove(name)

    def names(self) -> list[str]:
        """Those that have a buffer now."""
        return _native.registry_names()

    def __getitem__(self, name: str) -> UnifiedBuffer[Any]:
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        return found

    def __setitem__(self, name: str, buffer: UnifiedBuffer[Any]) -> None:
        """Takes the name away from another buffer, where this one can have it."""
        self._add(name, buffer, keep=False, instead=True)

    def __delitem__(self, name: str) -> None:
        if not self.remove(name):
            raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def __repr__(self) -> str:
        return f"Registry({', '.join(map(repr, self.names()))})"


registry = Registry()
