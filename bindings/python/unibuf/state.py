"""Which side of a buffer is newest."""

from enum import Enum


class BufferState(Enum):
    """Computed from which bytes are current where; printed by its name."""

    UNINITIALIZED = "uninitialized"  # no copy exists
    HOST_ONLY = "host_only"  # only a host copy exists, nothing written to it since it was allocated or last in step
    DEVICE_ONLY = "device_only"  # only device copies exist, likewise
    SYNCHRONIZED = "synchronized"  # the host and at least one device copy are current everywhere
    HOST_DIRTY = "host_dirty"  # the host was written and no device copy has all of it yet
    DEVICE_DIRTY = "device_dirty"  # a device was written and the host lacks some of it
    MIXED = "mixed"  # each side holds bytes that the other does not

    def __str__(self) -> str:
        return self.name


by_number = tuple(BufferState)  # as the library numbers them
