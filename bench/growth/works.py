#!/usr/bin/env python3
"""works.py --list | [--time] WORK ALIVE: counts what a work of the Python package costs among so many others, and
prints it as unibuf_growth does."""

import gc
import statistics
import sys
import threading
import time

import numpy as np
import unibuf

LACKING = 77  # the exit status where a package is not there that the work needs
DEVICE = "debug:0"  # a device with memory of its own, on any machine


def buffers(count):
    """So many buffers, current at the host and at the device."""
    unibuf.set_default_device(DEVICE)
    found = [unibuf.UnifiedBuffer((16,), np.float32) for _ in range(count)]
    for each in found:
        each.fill(1)
        each.sync_to_device()
    return found


def made(alive):
    kept = buffers(alive)
    return lambda: unibuf.UnifiedBuffer(kept[0].shape, np.float32).fill(1)


def host_block(alive):
    """A block that reads a buffer, beside as many others whose blocks are entered."""
    one, *others = buffers(alive + 1)
    entered = [each.read("host") for each in others]
    for each in entered:
        each.__enter__()

    def block(_=entered):
        with one.read("host"):
            pass

    return block


def device_block(alive):
    """A block that writes a buffer at the device, and one that reads it at the host."""
    one, *others = buffers(alive + 1)

    def block(_=others):
        with one.write(DEVICE):
            pass
        with one.read("host"):
            pass

    return block


def dask_chunks(alive):
    """The frames of a tenth as many chunks, as one worker sends them and another one receives them."""
    from distributed.protocol import deserialize, serialize

    chunks = buffers(alive // 10)
    return lambda: deserialize(*serialize(chunks))


def halo_fields(alive):
    """An exchange of the ghosts of a 25th as many fields, whose one process is its own neighbour."""
    from mpi4py import MPI
    from unibuf import mpi

    fields = [unibuf.UnifiedBuffer((8, 8), np.float32) for _ in range(alive // 25)]
    for each in fields:
        each.fill(1)
    return mpi.Halo(MPI.COMM_WORLD, *fields, ghosts=(1,), periodic=(True,)).exchange


WORKS = {
    "python.made": (made, "flat"),
    "python.host_block": (host_block, "flat"),
    "python.device_block": (device_block, "flat"),
    "python.dask_chunks": (dask_chunks, "linear"),
    "python.halo_fields": (halo_fields, "linear"),
}


def nanoseconds(work):
    taken = []
    end = time.perf_counter() + 0.2
    while len(taken) < 10 or time.perf_counter() < end:
        begin = time.perf_counter_ns()
        work()
        taken.append(time.perf_counter_ns() - begin)
    return statistics.median(taken)


def main():
    if sys.argv[1:] == ["--list"]:
        for name, (_, kind) in WORKS.items():
            print(name, kind)
        return
    is_timed = sys.argv[1:2] == ["--time"]
    given = sys.argv[1 + is_timed :]
    if len(given) != 2 or given[0] not in WORKS or not given[1].isdecimal():
        sys.exit(__doc__)
    name, alive = given
    make, kind = WORKS[name]
    # A program of one thread is spared atomic instructions.
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    gc.disable()
    try:
        work = make(int(alive))
    except (ImportError, RuntimeError) as lacking:  # mpi4py without an MPI raises the second
        print(lacking)
        sys.exit(LACKING)
    if is_timed:
        print(round(nanoseconds(work)))
        return
    from unibuf_cost_native import count

    count(name, lambda: None, work, *((3, 1) if kind == "linear" else ()))


main()
