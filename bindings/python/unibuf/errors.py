"""The one family of errors; each is also the built-in that a Python user would catch.

After any of them the buffer holds what it held before; nothing that was newest is lost.
"""


class UnibufError(Exception):
    """What the functions of this package raise, beside TypeError for arguments of the wrong type, and what NumPy raises
    for a value that an element cannot hold."""


class BufferNotAllocatedError(UnibufError, ValueError):
    """Marked, or asked about, before a copy existed there."""


class OutOfMemoryError(UnibufError, MemoryError):
    """A space has no room, or a size cannot be addressed."""


class DeviceUnavailableError(UnibufError, RuntimeError):
    """A space is missing here, or a package that its arrays need; the message says which, and why."""


class DeviceLostError(UnibufError, RuntimeError):
    """The device failed for good."""


class InvalidArgumentError(UnibufError, ValueError):
    """Nonsense in a call; the message says what is allowed."""


class OutOfRangeError(UnibufError, IndexError):
    """An offset or a count outside the buffer."""


class AccessConflictError(UnibufError, BufferError):
    """Leases that exclude each other, the last current copy at stake, or memory that arrays still show."""


class TransferFailedError(UnibufError, OSError):
    """Bytes could not be moved; what was current still is."""


class LeaseTimeoutError(UnibufError, TimeoutError):
    """The time that was given has passed."""


class UnsupportedError(UnibufError, NotImplementedError):
    """Nobody can do this here."""


class MissingAttributeError(UnsupportedError, AttributeError):
    """What a buffer would have elsewhere: for `hasattr` it is not there."""


by_code = {
    "not_allocated": BufferNotAllocatedError,
    "out_of_memory": OutOfMemoryError,
    "device_unavailable": DeviceUnavailableError,
    "device_lost": DeviceLostError,
    "invalid_argument": InvalidArgumentError,
    "out_of_range": OutOfRangeError,
    "access_conflict": AccessConflictError,
    "transfer_failed": TransferFailedError,
    "timeout": LeaseTimeoutError,
    "unsupported": UnsupportedError,
}
