"""Why a buffer gave no bytes, for the question that NumPy asks next.

NumPy asks the buffer protocol first. It drops the error of that, be it KeyboardInterrupt, and calls `__array__`, which
would wait anew."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


class _Kept(threading.local):
    failure: BaseException | None = None
    of: int = 0  # the id() of the buffer
    call: tuple[int, int] = (0, 0)  # the id() of the frame that has called NumPy, and which of its instructions did
    was_dropped = False  # within that call: who made it has not got the error


_kept = _Kept()


class _Given:
    """Goes with the error that is given out, and so notes where that ends."""

    def __del__(self) -> None:
        if _call_of(sys._getframe().f_back) == _kept.call:
            _kept.was_dropped = True


def keep(buffer: Any, failure: BaseException) -> None:
    """Called by the buffer protocol on the thread that gets the error."""
    from copy import copy  # most programs never come here

    try:
        _kept.failure = copy(failure)  # the error itself would keep the frames that it goes through
    except Exception:
        _kept.failure = failure
    _kept.of = id(buffer)
    _kept.call = _call_of(sys._getframe().f_back)
    _kept.was_dropped = False
    failure._given = _Given()  # type: ignore[attr-defined]


def forget(buffer: Any) -> None:
    """Called when the buffer protocol is asked anew. Raises what Ctrl-C raised, where the call that it has ended asks a
    second time, as some functions of NumPy do; where the program has got it, and asks again, it is over."""
    if _kept.was_dropped and not isinstance(_kept.failure, Exception):
        raise_kept(buffer)
    _kept.failure = None


def raise_kept(buffer: Any) -> None:
    """Raises the error that the buffer protocol raised within the same call, if it did."""
    failure = _kept.failure
    if failure is None:
        return
    _kept.failure = None
    frame = sys._getframe().f_back
    while frame is not None and _call_of(frame) != _kept.call:
        frame = frame.f_back
    if frame is not None and _kept.of == id(buffer):
        raise failure


def _call_of(frame: FrameType | None) -> tuple[int, int]:
    return (id(frame), frame.f_lasti) if frame else (0, 0)
