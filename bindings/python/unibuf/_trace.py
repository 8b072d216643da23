"""What was copied, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from . import _native


class Traffic(NamedTuple):
    """Bytes that were moved, and had to be."""

    moved: int  # over all links: a copy by way of the host counts twice
    least: int  # the fewest such that each who used some bytes found the newest
    declared: int  # bytes that blocks, marks and fills said were written
    found: int  # bytes written through `.host` arrays, which were found
    assumed: int  # bytes that may have been written so

    @property
    def ratio(self) -> float:
        """moved / least; 1 for 0 of 0."""
        if self.least == 0:
            return float("inf") if self.moved else 1.0
        return self.moved / self.least


def traffic(file: str | os.PathLike[str] | None = None) -> Traffic:
    """Of a trace, or of the last events that each thread keeps."""
    found = _native.recorded_traffic() if file is None else _native.traffic_of_file(os.fspath(file))
    return Traffic(*found)


@contextmanager
def trace(file: str | os.PathLike[str]) -> Iterator[str]:
    """Writes all events of the process to a file while the block runs; gives its name. `python -m unibuf report FILE`
    reads it."""
    name = _native.write_trace(os.fspath(file))
    try:
        yield name
    finally:
        _native.stop_trace()


def keep_events(each_thread: int) -> None:
    """How many events each thread keeps, 1,024 at first; 0 turns the recorder off."""
    _native.keep_events(each_thread)
