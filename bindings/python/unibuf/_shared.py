"""Buffers that processes share stay shared where multiprocessing sends them: as arguments of processes, in queues and
pipes. What goes along is the file of their memory, so the sender need not keep them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TypeVar

from . import _native
from ._base import BufferBase
from ._pickle import attributes_of, form_of
from .errors import AccessConflictError, DeviceUnavailableError, InvalidArgumentError, TransferFailedError

B = TypeVar("B", bound=BufferBase[Any])

_files: dict[int, tuple[int, int]] = {}  # by the id of a buffer that is shared: descriptor and inode of its memory
_room = 100  # before those that are gone are looked for


def note(buffer: BufferBase[Any], name: str) -> str:
    """Has multiprocessing send a buffer that is shared under that name as one. Returns the name."""
    from multiprocessing.reduction import ForkingPickler  # most programs need none

    global _room
    if len(_files) >= _room:
        for each, file in list(_files.items()):
            if not _is_open(*file):
                _files.pop(each, None)
        _room = 2 * len(_files) + 100
    _files[buffer.id] = _file_of(name)
    ForkingPickler.register(type(buffer), _reduce)
    return name


def name_of(buffer: BufferBase[Any]) -> str | None:
    """None where other processes cannot have it, or it is a part of a buffer. The host gets what a device has."""
    file = _files.get(buffer.id)
    if file is None or not _is_open(*file):
        return None
    with suppress(AccessConflictError):  # another process has newer content: who reads it is told
        buffer._hold("host")
    try:
        return buffer._share("")
    except InvalidArgumentError:
        return None


def attached(kind: type[B], shape: tuple[int, ...], dtype: Any, options: dict[str, Any], name: str) -> B:
    """The buffer of that name. Where its device is missing, it is for the default device."""
    try:
        result: B = _native.attach(kind, name, shape, dtype, **options)
    except (DeviceUnavailableError, InvalidArgumentError):
        result = _native.attach(kind, name, shape, dtype, **{**options, "device": None})
    note(result, result._share(""))
    return result


def _reduce(buffer: BufferBase[Any]) -> tuple[Any, ...]:
    name = name_of(buffer)
    if name is None:
        return buffer.__reduce_ex__(4)  # type: ignore[return-value]  # not protocol 5, which the pickler may not have
    from multiprocessing.resource_sharer import DupFd

    file, inode = _file_of(name)
    return _rebuild, (*form_of(buffer), DupFd(file), inode), attributes_of(buffer)


def _rebuild(kind: type[B], shape: tuple[int, ...], dtype: Any, options: dict[str, Any], sent: Any, inode: int) -> B:
    try:
        file: int = sent.detach()
    except (EOFError, OSError) as failure:
        raise TransferFailedError("a shared buffer has not arrived: the process that sent it has ended") from failure
    try:
        return attached(kind, shape, dtype, options, f"unibuf:{os.getpid()}:{file}:{inode}")
    finally:
        os.close(file)


def _file_of(name: str) -> tuple[int, int]:
    """The descriptor and the inode that a name has after the process."""
    _, _, file, inode = name.split(":")
    return int(file), int(inode)


def _is_open(file: int, inode: int) -> bool:
    try:
        return os.fstat(file).st_ino == inode
    except OSError:
        return False
