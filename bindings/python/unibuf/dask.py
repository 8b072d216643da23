"""Buffers between the workers of Dask.

They are sent once, as a frame over the sender's host copy, and arrive in host memory only: they go to the receiver's
device when they are touched there. `import unibuf` does this too where `distributed` has been imported before.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._pickle import Form, content_of, form_of, rebuild
from .buffer import UnifiedBuffer

_protocol: Any = import_module("distributed.protocol")
_pickle: Any = import_module("distributed.protocol.pickle")
_sizeof: Any = import_module("dask.sizeof").sizeof


def serialize(buffer: UnifiedBuffer[Any]) -> tuple[dict[str, Any], list[memoryview]]:
    content: Any = content_of(buffer)
    return {"form": _pickle.dumps(form_of(buffer))}, [] if content is None else [memoryview(content)]


def deserialize(header: dict[str, Any], frames: list[Any]) -> UnifiedBuffer[Any]:
    form: Form[UnifiedBuffer[Any]] = _pickle.loads(header["form"])
    return rebuild(*form, frames[0] if frames else None)


_protocol.dask_serialize.register(UnifiedBuffer, serialize)
_protocol.dask_deserialize.register(UnifiedBuffer, deserialize)
_sizeof.register(UnifiedBuffer, lambda buffer: buffer.nbytes)
