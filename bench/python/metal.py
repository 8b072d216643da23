"""What an access of a buffer costs at a Metal device, against the least that Metal itself does, in one run.

python bench/python/metal.py [--json FILE]
"""

import argparse
import json
import statistics
import time

import numpy as np
import unibuf
from unibuf import UnifiedBuffer

MIB = 1 << 20


def seconds(call, times):
    """The median of `times` calls."""
    took = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return statistics.median(took)


def in_turns(nbytes):
    """One element is written by the host, and the whole is made current at the device."""
    buffer = UnifiedBuffer(nbytes // 4, device="metal:0")
    buffer.host[:] = 1
    buffer.sync_to_device()
    host = buffer.host

    def turn():
        host[0] += 1
        with buffer.read("metal:0"):
            pass

    moved = unibuf.total_statistics().bytes_moved
    took = seconds(turn, 200)
    return took, (unibuf.total_statistics().bytes_moved - moved) / 200


def against_a_copy(nbytes):
    turn, moved = in_turns(nbytes)
    source, target = np.ones(nbytes, np.uint8), np.empty(nbytes, np.uint8)
    copy = seconds(lambda: np.copyto(target, source), 20)
    print(
        f"{nbytes:>10,} bytes: one element, then the device: {turn * 1e6:8.1f} us, {moved:,.0f} bytes moved; "
        f"a copy of all by the host: {copy * 1e6:8.1f} us"
    )
    return {"bytes": nbytes, "turn": turn, "bytes_moved": moved, "host_copy": copy, "ratio": turn / copy}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", help="where to write the figures")
    given = arguments.parse_args()
    figures = [against_a_copy(nbytes) for nbytes in (4096, MIB, 64 * MIB)]
    if given.json:
        with open(given.json, "w") as file:
            json.dump(figures, file, indent=1)
    print(f"64 MiB: a turn takes {figures[-1]['ratio']:.3f} of a copy of all")


if __name__ == "__main__":
    main()
