"""Buffers between the workers of Dask.

Nothing has to be imported for that, here or in the workers: Dask sends pickles, with the content as a frame over the
sender's host copy. It arrives in host memory only, and goes to the receiver's device when it is touched there.

Between processes of one machine, buffers that are shared can be passed on by name instead: see share_on_machine.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from ._pickle import attributes_of, form_of, give_attributes
from ._shared import attached, name_of
from .buffer import UnifiedBuffer
from .errors import InvalidArgumentError, TransferFailedError

_protocol: Any = import_module("distributed.protocol")
_pickle: Any = import_module("distributed.protocol.pickle")
_Plugin: Any = import_module("distributed").WorkerPlugin

_KEY = "unibuf-machine"
_told: list[dict[str, Any]] = []  # what the connections of this process say of it


def share_on_machine(client: Any) -> None:
    """Has the workers of a cluster, and this process, pass on buffers that are shared by their name.

    Those that share() was called for, or that were attached, are the same memory then in every process of one machine
    and user that gets them from a worker; a task that writes one writes it for all. To other machines, by way of the
    scheduler, and to disk, the content goes. The sender keeps a buffer until it has arrived; then each has the memory.
    Workers that come later do so too. Call it before the first work: connections that are there already send content.
    Linux only.
    """
    if not hasattr(client, "rpc"):
        raise TypeError(f"share_on_machine takes a distributed.Client; {type(client).__name__} was given")
    _begin(client.rpc)
    client.register_plugin(_Sharing())


class _Sharing(_Plugin):  # type: ignore[misc]
    name = "unibuf-share-on-machine"

    def setup(self, worker: Any) -> None:
        _begin(worker.rpc)


def _begin(connections: Any) -> None:
    """Has connections tell who accepts them where this process is, so that it may be sent names."""
    told = connections.connection_args.setdefault("handshake_overrides", {})
    told[_KEY] = _machine()
    _told.append(told)
    _protocol.dask_serialize.register(UnifiedBuffer, _serialize)
    _protocol.dask_deserialize.register(UnifiedBuffer, _deserialize)


def _machine() -> str:
    """The same for processes that can have each other's memory: those of one system, one view of it, and one user."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')} {os.geteuid()}"


class _ByPickle(NotImplementedError, TypeError):
    """Says that Dask should pickle it: to who sends it, and to who pickles what it is a part of."""


def _serialize(buffer: UnifiedBuffer[Any], context: dict[str, Any] | None = None) -> tuple[dict[str, Any], list[Any]]:
    """The name, for who can have it; `context` tells of sender and receiver, and is None for a file."""
    receiver = (context or {}).get("recipient", {}).get(_KEY)
    name = name_of(buffer) if receiver is not None and receiver == _machine() else None
    if name is None:
        raise _ByPickle
    return {"name": name, "sender": os.getpid(), "form": _pickle.dumps((form_of(buffer), attributes_of(buffer)))}, []


def _deserialize(header: dict[str, Any], _: list[Any]) -> UnifiedBuffer[Any]:
    (kind, shape, dtype, options), attributes = _pickle.loads(header["form"])
    try:
        result: UnifiedBuffer[Any] = attached(kind, shape, dtype, options, header["name"])
    except InvalidArgumentError as failure:
        if Path(f"/proc/{header['sender']}").exists():  # it cannot be had from there: from now on as content
            for each in _told:
                each.pop(_KEY, None)
        # An OSError, so that Dask asks again, here or elsewhere, and makes it once more if it is lost.
        raise TransferFailedError(f"a shared buffer has not arrived from process {header['sender']}") from failure
    give_attributes(result, attributes)
    return result
