"""The names of PyDotCompute's documents, on unibuf. New programs import unibuf.

A file, because PyDotCompute itself is a folder: where both are installed neither overwrites the other, and Python
imports the folder.
"""

from pathlib import Path

__path__ = [str(Path(__file__).with_name("unibuf_pydotcompute"))]  # its modules are there

from pydotcompute.core.accelerator import Accelerator, get_accelerator
from pydotcompute.core.memory_pool import MemoryPool, get_memory_pool
from pydotcompute.core.unified_buffer import BufferState, UnifiedBuffer
from pydotcompute.messages import message
from pydotcompute.runtime import Runtime

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
