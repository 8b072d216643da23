"""What was copied, and why."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from . import _native

FileName = str | bytes | os.PathLike[str] | os.PathLike[bytes]


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


class Finding(NamedTuple):
    """What a program could do better at one place."""

    kind: str  # "round_trip", "unread_copy", ...: docs/trace.md has all
    line: str
    times: int
    nbytes: int  # that were moved, or allocated, and need not have been
    seconds: float  # that this took
    evidence: str
    change: str


def traffic(file: FileName | None = None) -> Traffic:
    """Of a trace, or of the last events that each thread keeps."""
    found = _native.recorded_traffic() if file is None else _native.traffic_of_file(os.fsdecode(file))
    return Traffic(*found)


class Trace:
    """A file with all events of a block. A notebook shows it as a report. `python -m unibuf report FILE` reads it."""

    def __init__(self, file: str) -> None:
        self.file = file

    def __fspath__(self) -> str:
        return self.file

    def traffic(self) -> Traffic:
        return traffic(self)

    def findings(self) -> list[Finding]:
        """What could be better, what took longest first. Most of it shows where the trace is a close one."""
        return [Finding(*each) for each in _native.findings_of_file(self.file)]

    def report(self, page: str | os.PathLike[str]) -> None:
        """Writes a page for a browser, with charts and findings. It needs no network."""
        with open(page, "w", encoding="utf-8") as to:
            to.write(_native.page_of_file(self.file))

    def __repr__(self) -> str:
        return f"Trace({self.file!r})"

    def _repr_html_(self) -> str:
        from html import escape  # most programs show none

        page = escape(_native.page_of_file(self.file))
        return f'<iframe srcdoc="{page}" style="border: 0; width: 100%; height: 40rem"></iframe>'


def _remove(file: str, process: int) -> None:
    if os.getpid() == process:  # a child of a fork has its parent's objects, too
        with suppress(OSError):
            os.remove(file)


@contextmanager
def trace(file: FileName | None = None, *, close: bool = False) -> Iterator[Trace]:
    """Writes all events of the process to a file while the block runs. Without a name the file goes with the Trace.

    A close trace also says which bytes of transfers were news, when blocks ended, and how long each transfer took. For
    that it keeps copies, and waits for transfers: the program is slower, and needs more memory."""
    if file is not None:
        made = Trace(_native.write_trace(os.fsdecode(file), close))
    else:
        import tempfile  # takes as long as a fifth of the package

        handle, name = tempfile.mkstemp(prefix="unibuf-", suffix=".trace")
        os.close(handle)
        made = Trace(name)
        weakref.finalize(made, _remove, name, os.getpid())
        _native.write_trace(name, close)
    try:
        yield made
    finally:
        _native.stop_trace()


def keep_events(each_thread: int) -> None:
    """How many events each thread keeps, 1,024 at first and 2^24 at most; 0 turns the recorder off."""
    _native.keep_events(each_thread)
