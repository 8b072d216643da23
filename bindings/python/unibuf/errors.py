"""The one family of errors; each is also the built-in that a Python user would catch.

After any of them the buffer holds what it held before; nothing that was newest is lost. As text each ends with the
command that says more; `args` has the message alone.
"""

import re

_PAGE = re.compile(r" \[unibuf explain \w+\]$")


class UnibufError(Exception):
    """What the functions of this package raise, beside TypeError for arguments of the wrong type, and what NumPy raises
    for a value that an element cannot hold."""

    code = ""  # what C++ calls it, and `unibuf explain`

    def __str__(self) -> str:
        text = super().__str__()
        return f"{_PAGE.sub('', text)} [unibuf explain {self.code}]" if self.code else text


class BufferNotAllocatedError(UnibufError, ValueError):
    """Marked, or asked about, before a copy existed there."""

    code = "not_allocated"


class OutOfMemoryError(UnibufError, MemoryError):
    """A space has no room, or a size cannot be addressed."""

    code = "out_of_memory"


class DeviceUnavailableError(UnibufError, RuntimeError):
    """A space is missing here, or a package that its arrays need; the message says which, and why."""

    code = "device_unavailable"


class DeviceLostError(UnibufError, RuntimeError):
    """The device failed for good."""

    code = "device_lost"


class InvalidArgumentError(UnibufError, ValueError):
    """Nonsense in a call; the message says what is allowed."""

    code = "invalid_argument"


class OutOfRangeError(UnibufError, IndexError):
    """An offset or a count outside the buffer."""

    code = "out_of_range"


class AccessConflictError(UnibufError, BufferError):
    """Leases that exclude each other, the last current copy at stake, or memory that arrays still show."""

    code = "access_conflict"


class TransferFailedError(UnibufError, OSError):
    """Bytes could not be moved; what was current still is."""

    code = "transfer_failed"


class LeaseTimeoutError(UnibufError, TimeoutError):
    """The time that was given has passed."""

    code = "timeout"


class UnsupportedError(UnibufError, NotImplementedError):
    """Nobody can do this here."""

    code = "unsupported"


class MissingAttributeError(UnsupportedError, AttributeError):
    """What a buffer would have elsewhere: for `hasattr` it is not there."""


by_code = {each.code: each for each in UnibufError.__subclasses__()}
