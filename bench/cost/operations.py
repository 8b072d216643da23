#!/usr/bin/env python3
"""operations.py --list | OPERATION: counts what an operation of the Python package costs, and prints it as unibuf_cost
does."""

import gc
import sys
import threading

import numpy as np
import unibuf
from unibuf_cost_native import count

SEPARATE = "debug:0"  # a device with memory of its own, on any machine


def current():
    """A buffer whose copies at the host and at the default device are current."""
    unibuf.set_default_device(SEPARATE)
    buffer = unibuf.UnifiedBuffer((32, 32), np.float32)
    buffer.fill(1)
    buffer.sync_to_device()
    return buffer


def host(buffer):
    return lambda: buffer.host


def device(buffer):
    return lambda: buffer.device


def host_block(buffer):
    def block():
        with buffer.read("host"):
            pass

    return block


def device_block(buffer):
    def block():
        with buffer.read(SEPARATE):
            pass

    return block


def view(buffer):
    return lambda: buffer.view[3]


def operator(buffer):
    return lambda: buffer + 1


OPERATIONS = {f"python.{each.__name__}": each for each in (host, device, host_block, device_block, view, operator)}


def main():
    if sys.argv[1:] == ["--list"]:
        print(*OPERATIONS, sep="\n")
        return
    if len(sys.argv) != 2 or sys.argv[1] not in OPERATIONS:
        sys.exit(__doc__)
    # A program of one thread is spared atomic instructions: see main.cpp.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    gc.disable()
    operation = OPERATIONS[sys.argv[1]](current())
    count(sys.argv[1], lambda: None, operation)


main()
