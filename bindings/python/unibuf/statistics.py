"""What was moved, and why."""

from typing import Any, NamedTuple

from . import _native


class TransferCount(NamedTuple):
    """The transfers of one kind so far."""

    source: str  # a space
    target: str
    cause: str  # which access needed the bytes: "read", "device_handle", "eviction", ...
    transfers: int
    nbytes: int


class Statistics(NamedTuple):
    """Of one buffer, or of the process."""

    transfers: tuple[TransferCount, ...]
    publications: int  # shared memory made visible: no byte moved
    fence_waits: int  # times that the host stopped for a device
    evictions: int  # copies that were dropped because others needed their memory

    @property
    def bytes_moved(self) -> int:
        return sum(each.nbytes for each in self.transfers)

    @property
    def transfers_made(self) -> int:
        return sum(each.transfers for each in self.transfers)


def from_native(found: dict[str, Any]) -> Statistics:
    return Statistics(**{**found, "transfers": tuple(TransferCount(*each) for each in found["transfers"])})


def total_statistics() -> Statistics:
    """Of all buffers since the process began, or since reset_statistics()."""
    return from_native(_native.total_statistics())


def reset_statistics() -> None:
    """Lets total_statistics begin anew. Those of buffers go on."""
    _native.reset_statistics()
