"""How a space has its copy of a buffer."""

from typing import NamedTuple


class Placement(NamedTuple):
    """Where a copy has its memory, and why there."""

    placement: str  # "mirrored", memory of its own, or "shared", the host's
    pinned: bool  # of the host: page-locked
    reason: str  # why it is so
    # Of the host, from its first pointer on: what is written through pointers is found; where false, it is assumed.
    writes_found: bool = False
    mapping: str = ""  # how the host has a device's memory mapped: "to write, write-combined, coherent"
