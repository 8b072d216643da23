"""Devices, their memory, and limits of it."""

from typing import Any, NamedTuple

from . import _native
from ._device_arrays import opencl_queue
from .errors import UnsupportedError


class DeviceInfo(NamedTuple):
    """What a space is, or why it is missing."""

    name: str  # "opencl:0"; of a kind that is missing, or lacks devices, the kind: "opencl"
    available: bool
    reason: str  # why it is not available; empty where it is
    description: str  # as its driver names it
    own_memory: bool  # memory of its own, apart from the host's
    aliases_host: bool  # can use the host's memory in place
    host_visible: bool  # can give memory that the host addresses too
    asynchronous: bool  # queues work; fences tell when it is done
    memory_bytes: int
    properties: dict[str, str]  # what the driver says beyond that


class AcceleratorMemory(NamedTuple):
    """Bytes: what the driver says of all programs, and what of it is this one's buffers'."""

    total: int  # 0 where the driver does not say
    free: int | None  # None where the driver does not say
    held: int  # by the buffers of this process
    peak: int  # the most that they held
    limit: int | None  # as limit_memory has it
    pooled: int  # of `held`: of buffers that lie in pools
    pinned: int  # of the host: page-locked


class Accelerator:
    """A space that one asks about."""

    __slots__ = ("_space",)

    def __init__(self, space: str | None = None) -> None:
        self._space = _native.default_device() if space is None else _native.properties_of(space)["name"]

    @property
    def space(self) -> str:
        return self._space

    @property
    def properties(self) -> DeviceInfo:
        return DeviceInfo(**_native.properties_of(self._space))

    @property
    def memory(self) -> AcceleratorMemory:
        """Asked of the driver at each call."""
        return AcceleratorMemory(**_native.memory_of(self._space))

    def get_memory_info(self) -> tuple[int, int]:
        """Free and total bytes, within the limit of limit_memory. Where the driver does not say what is free
        (`memory.free` is None), what other programs hold is not known, and free is all that this process does not
        hold."""
        found = self.memory
        total = found.total if found.limit is None else min(found.total, found.limit)
        left = max(total - found.held, 0)
        return left if found.free is None or found.limit is not None and left < found.free else found.free, total

    @property
    def queue(self) -> Any:
        """Of an OpenCL device: unibuf's own queue, a pyopencl.CommandQueue. Kernels are built for its `context`. Raises
        UnsupportedError for other spaces."""
        if not self._space.startswith("opencl:"):
            raise UnsupportedError(f"{self._space} has no queue of PyOpenCL: OpenCL devices have")
        return opencl_queue(self._space)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Accelerator) and self._space == other._space

    def __hash__(self) -> int:
        return hash((Accelerator, self._space))

    def __repr__(self) -> str:
        return f"Accelerator({self._space!r}: {self.properties.description})"


def get_accelerator(space: str | None = None) -> Accelerator:
    """Of a space, or of the default device, as it is now."""
    return Accelerator(space)


def devices() -> list[DeviceInfo]:
    """Every space there is and every kind that is missing or lacks devices. Loads all drivers at the first call."""
    return [DeviceInfo(**each) for each in _native.devices()]


def default_device() -> str:
    """What `device`, `sync_to_device` and `mark_device_dirty` mean: the space that was set, else the first CUDA device,
    else the host."""
    return _native.default_device()


def set_default_device(space: str) -> None:
    """Sets what default_device() is from now on, for all threads. Raises DeviceUnavailableError where it is missing."""
    _native.set_default_device(space)


def default_timeout() -> float | None:
    """The seconds that calls wait which name no timeout; None, as it is at first, for ever."""
    return _native.default_timeout()


def set_default_timeout(seconds: float | None) -> None:
    """Sets how long calls wait, on all threads, that name no timeout, `host` and `device` among them: for blocks of
    other threads, and for work that is queued on devices. After that they raise LeaseTimeoutError, and no content has
    changed. None is for ever."""
    _native.set_default_timeout(seconds)


def limit_memory(space: str, nbytes: int | None) -> None:
    """The most bytes that buffers may hold in a space from now on; None for no limit. Where it is reached, copies of
    other buffers make room: those that are current elsewhere, then those that were used least recently."""
    _native.limit_memory(space, nbytes)


def trim_memory(space: str) -> None:
    """Gives back to the system what is kept of a space for later."""
    _native.trim_memory(space)
