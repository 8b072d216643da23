"""What other libraries call a stream or a queue, as the address that their API has for it."""

from __future__ import annotations

from typing import Any

from .errors import InvalidArgumentError

_FIRST_ADDRESS = 4096  # no memory is mapped below; 0 to 2 are CUDA's own names of streams


def address_of(stream: Any) -> int | None:
    """Of a CuPy, torch or Numba stream, of what has __cuda_stream__, of a pyopencl queue, or of the address itself."""
    if stream is None or (isinstance(stream, int) and not 2 < stream < _FIRST_ADDRESS):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("ptr", "cuda_stream", "int_ptr", "handle"):
        found = getattr(stream, name, None)
        if found is not None:
            return int(getattr(found, "value", found) or 0)
    raise InvalidArgumentError(
        f"{stream!r} is no stream: give one of CuPy, torch, Numba or pyopencl, what has __cuda_stream__, or its address"
    )
