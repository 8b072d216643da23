"""One array, many memories: no stale read, no needless copy, and every copy can say why it happened."""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._distributions import OURS as _distribution  # noqa: F401, the native module looks for it
from ._guard import Budget, budget, guard
from ._native import also_load_opencl_from as _also_load_opencl_from
from ._native import leave_out_of_places as _leave_out_of_places
from ._native import version as __version__
from ._trace import Finding, Trace, Traffic, keep_events, trace, traffic
from .accelerator import (
    Accelerator,
    AcceleratorMemory,
    DeviceInfo,
    default_device,
    default_timeout,
    devices,
    get_accelerator,
    limit_memory,
    set_default_device,
    set_default_timeout,
    trim_memory,
)
from .buffer import UnifiedBuffer
from .creation import asarray, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .errors import (
    AccessConflictError,
    BufferNotAllocatedError,
    DeviceLostError,
    DeviceUnavailableError,
    InvalidArgumentError,
    LeaseTimeoutError,
    OutOfMemoryError,
    OutOfRangeError,
    TransferFailedError,
    UnibufError,
    UnsupportedError,
)
from .placement import Placement
from .pool import MemoryPool, PoolStatistics, get_memory_pool
from .registry import Registry, registry
from .sharing import attach, from_dlpack, from_numpy
from .state import BufferState
from .statistics import Statistics, TransferCount, reset_statistics, total_statistics
from .views import CudaView, MetalView, OpenCLView

__all__ = [
    "Accelerator",
    "AcceleratorMemory",
    "AccessConflictError",
    "BufferNotAllocatedError",
    "Budget",
    "BufferState",
    "CudaView",
    "DeviceInfo",
    "DeviceLostError",
    "DeviceUnavailableError",
    "Finding",
    "InvalidArgumentError",
    "LeaseTimeoutError",
    "MemoryPool",
    "MetalView",
    "OpenCLView",
    "OutOfMemoryError",
    "OutOfRangeError",
    "Placement",
    "PoolStatistics",
    "Registry",
    "Statistics",
    "Trace",
    "Traffic",
    "TransferCount",
    "TransferFailedError",
    "UnibufError",
    "UnifiedBuffer",
    "UnsupportedError",
    "__version__",
    "asarray",
    "attach",
    "budget",
    "default_device",
    "default_timeout",
    "devices",
    "empty",
    "empty_like",
    "from_dlpack",
    "from_numpy",
    "full",
    "full_like",
    "get_accelerator",
    "get_memory_pool",
    "guard",
    "keep_events",
    "limit_memory",
    "ones",
    "ones_like",
    "registry",
    "reset_statistics",
    "set_default_device",
    "set_default_timeout",
    "total_statistics",
    "trace",
    "traffic",
    "trim_memory",
    "zeros",
    "zeros_like",
]

_leave_out_of_places(list(__path__))

# The wheels of PyOpenCL have an OpenCL loader, and PoCL beside it, for systems that have none.
try:
    _pyopencl = _find_spec("pyopencl")
except ValueError:  # somebody has put another module in its place
    _pyopencl = None
if _pyopencl and _pyopencl.submodule_search_locations:
    _also_load_opencl_from(f"{_pyopencl.submodule_search_locations[0]}/.libs")

if _TYPE_CHECKING:
    from . import dask as dask
    from . import mpi as mpi
else:

    def __getattr__(name: str) -> object:
        """`unibuf.dask` imports Dask, and `unibuf.mpi` mpi4py, when they are first used."""
        if name in ("dask", "mpi"):
            return _import_module(f"unibuf.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
