"""Buffers and their states."""

from unibuf import BufferState, UnifiedBuffer

__all__ = ["BufferState", "UnifiedBuffer"]
