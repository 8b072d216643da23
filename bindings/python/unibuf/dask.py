"""Buffers between the workers of Dask.

They are sent once, as a frame over the sender's host copy, and arrive in host memory only: they go to the receiver's
device when they are touched there. `import unibuf` does this too where `distributed` has been imported before.
"""

from __future__ import annotations

from typing import Any

from dask.sizeof import sizeof
from distributed.protocol import dask_deserialize, dask_serialize
from distributed.protocol.pickle import dumps, loads

from ._pickle import content_of, form_of, rebuild
from .buffer import UnifiedBuffer


@dask_serialize.register(UnifiedBuffer)
def serialize(buffer: UnifiedBuffer[Any]) -> tuple[dict[str, Any], list[memoryview]]:
    content: Any = content_of(buffer)
    return {"form": dumps(form_of(buffer))}, [] if content is None else [memoryview(content)]


@dask_deserialize.register(UnifiedBuffer)
def deserialize(header: dict[str, Any], frames: list[Any]) -> UnifiedBuffer[Any]:
    return rebuild(*loads(header["form"]), frames[0] if frames else None)


@sizeof.register(UnifiedBuffer)
def nbytes(buffer: UnifiedBuffer[Any]) -> int:
    return buffer.nbytes
