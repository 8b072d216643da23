"""Errors, by the names that PyDotCompute has for them."""

from unibuf import (
    BufferNotAllocatedError,
    DeviceUnavailableError,
    TransferFailedError,
    UnibufError,
)

PyDotComputeError = UnibufError
BufferSyncError = TransferFailedError
BackendNotAvailableError = DeviceUnavailableError


class MessageError(UnibufError, ValueError):
    """A message that cannot be sent: no dataclass, or one that carries an array."""


class ProcessorNotFoundError(UnibufError, LookupError):
    """A message to a processor that nobody has made."""


__all__ = [
    "BackendNotAvailableError",
    "BufferNotAllocatedError",
    "BufferSyncError",
    "MessageError",
    "ProcessorNotFoundError",
    "PyDotComputeError",
]
