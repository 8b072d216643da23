"""Devices and their memory."""

from unibuf import Accelerator, get_accelerator

__all__ = ["Accelerator", "get_accelerator"]
