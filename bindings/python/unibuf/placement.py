"""How a space has its copy of a buffer."""

from typing import NamedTuple


class Placement(NamedTuple):
    """Where a copy has its memory, and why there."""

    placement: str  # "mirrored", memory of its own, or "shared", the host's
    pinned: bool  # of the host: page-locked
    reason: str  # why it is so
    # This is True at the host where stores through pointers are found. It says so from the first pointer on.
    writes_found: bool = False
    mapping: str = ""  # how the host has a device's memory mapped: "to write, write-combined, coherent"
    pointers_out: bool = False  # what `.host` or `.device` gave of it is in use
