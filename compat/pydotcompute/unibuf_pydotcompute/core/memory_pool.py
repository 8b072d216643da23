"""Buffers that are used again."""

from unibuf import MemoryPool, PoolStatistics, get_memory_pool

__all__ = ["MemoryPool", "PoolStatistics", "get_memory_pool"]
