"""The names of PyDotCompute's documents, on unibuf. New programs import unibuf."""

from .core.accelerator import Accelerator, get_accelerator
from .core.memory_pool import MemoryPool, get_memory_pool
from .core.unified_buffer import BufferState, UnifiedBuffer
from .messages import message
from .runtime import Runtime

__all__ = [
    "Accelerator",
    "BufferState",
    "MemoryPool",
    "Runtime",
    "UnifiedBuffer",
    "get_accelerator",
    "get_memory_pool",
    "message",
]
