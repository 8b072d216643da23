"""Transfers that nobody asked for by name, told or refused; and how many bytes may move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from . import _native
from .errors import InvalidArgumentError

_ACTIONS = ("allow", "log", "error")


@contextmanager
def guard(
    action: Literal["allow", "log", "error"] = "error", *, from_: str | None = None, to: str | None = None
) -> Iterator[None]:
    """What becomes of transfers that accesses of this thread make by the way, while the block runs: `.host`, `.device`,
    blocks, exports. They are allowed, told on stderr, or refused by AccessConflictError before a byte moves. What is
    asked for by name (sync_to_device, prefetch, copies) goes on. Of the guards that are about a
    transfer the innermost decides; a space that is not named is any.
    """
    if action not in _ACTIONS:
        raise InvalidArgumentError(f"a guard's action is one of {', '.join(_ACTIONS)}; {action!r} was given")
    held = _native.guard(_ACTIONS.index(action), from_, to)
    try:
        yield
    finally:
        held.end()


class Budget:
    """What has moved since a block began."""

    def __init__(self, counted: _native.Budget) -> None:
        self._counted = counted

    @property
    def moved(self) -> int:
        return self._counted.moved()


@contextmanager
def budget(nbytes: int, *, from_: str | None = None, to: str | None = None) -> Iterator[Budget]:
    """AccessConflictError at the end of the block where all buffers of the process, on any thread, have moved more
    bytes meanwhile. The message says from where to where, and what for.
    """
    counted = _native.budget(nbytes, from_, to)
    yield Budget(counted)
    counted.check()
