#!/usr/bin/env python3
"""opencl_peers.py ROWS.JSON: the Python package and its peers, PyOpenCL and PyDotCompute, in turns."""

import json
import sys

import numpy as np
import pydotcompute
import pyopencl as cl
import pyopencl.array
import pyopencl.tools
import unibuf
from python_works import (
    ACCESSES,
    CHANGED,
    CHANGED_COLUMN,
    CHANGED_ROW,
    LARGE,
    MIDDLE,
    PAGE,
    SIDE,
    SMALL,
    SMALL_BUFFERS,
    TEMPORARIES,
    ByUnibuf,
    Contender,
    OnDevice,
    Way,
    play,
)

SOURCE = """
kernel void look(global const uint* data, global uint* seen, uint first) {
    seen[first + get_global_id(0)] = data[get_global_id(0) * 1024];
}
kernel void touch(global uint* data, uint value) {
    data[get_global_id(0) * 1024] = value;
}
"""


class Device:
    """A queue, two kernels that touch one element of each page, and what they have seen."""

    where = "opencl:0"

    def __init__(self):
        self.queue = unibuf.get_accelerator(self.where).queue
        program = cl.Program(self.queue.context, SOURCE).build()
        self.kernels = program.look, program.touch
        self.places = np.empty(2 * SMALL_BUFFERS, np.uint32)
        self.seen_buffer = cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, self.places.nbytes)

    def opened(self, lease):
        """What the kernels take of a lease."""
        return lease.memory_object()

    def look(self, data, count, first=0):
        self.kernels[0](self.queue, (count // PAGE,), None, data, self.seen_buffer, np.uint32(first))

    def touch(self, data, count, value):
        self.kernels[1](self.queue, (count // PAGE,), None, data, np.uint32(value))

    def finish(self):
        self.queue.finish()

    def seen(self, count):
        cl.enqueue_copy(self.queue, self.places, self.seen_buffer)
        return int(self.places[:count].sum(dtype=np.uint64))


class ByPyOpenCL(OnDevice):
    missing = "PyOpenCL does not know what is current: the program does"

    def made(self, *shape):
        host = np.ones(shape, np.uint32)
        return host, pyopencl.array.to_device(self.on.queue, host)

    def construct(self):
        def run():
            for _ in range(ACCESSES):
                pyopencl.array.empty(self.on.queue, (LARGE,), np.uint32)

        return Way(run, note="no memory of the host", times=ACCESSES)

    def change_named(self):
        host, array = self.made(LARGE)

        def run(value):
            host[CHANGED] = value
            part = host[CHANGED : CHANGED + 1]
            cl.enqueue_copy(self.on.queue, array.data, part, dst_offset=4 * CHANGED, is_blocking=False)
            self.on.look(array.data, LARGE)

        return self.way(run, LARGE // PAGE, note="4 bytes are copied")

    def change_unnamed(self):
        host, array = self.made(LARGE)

        def run(value):
            host[CHANGED] = value
            cl.enqueue_copy(self.on.queue, array.data, host, is_blocking=False)
            self.on.look(array.data, LARGE)

        return self.way(run, LARGE // PAGE, note="all is copied")

    def rewrite(self, count):
        host, array = self.made(count)

        def run(value):
            host.fill(value)
            cl.enqueue_copy(self.on.queue, array.data, host, is_blocking=False)
            self.on.look(array.data, count)

        return self.way(run, count // PAGE)

    def row(self):
        _, square = self.made(SIDE, SIDE)
        part = np.empty(SIDE, np.uint32)

        def read():
            cl.enqueue_copy(self.on.queue, part, square.data, src_offset=4 * SIDE * CHANGED_ROW)
            return part

        return self.of_square(lambda value: self.on.touch(square.data, LARGE, value), read)

    def column(self):
        _, square = self.made(SIDE, SIDE)
        part = np.empty(SIDE, np.uint32)

        def read():
            cl.enqueue_copy(
                self.on.queue,
                part,
                square.data,
                buffer_origin=(4 * CHANGED_COLUMN, 0),
                host_origin=(0, 0),
                region=(4, SIDE),
                buffer_pitches=(4 * SIDE,),
                host_pitches=(4,),
            )
            return part

        return self.of_square(lambda value: self.on.touch(square.data, LARGE, value), read, note="packed")

    def temporary(self):
        pool = pyopencl.tools.MemoryPool(pyopencl.tools.ImmediateAllocator(self.on.queue))

        def run(value):
            for _ in range(TEMPORARIES):
                array = pyopencl.array.empty(self.on.queue, (MIDDLE,), np.uint32, allocator=pool)
                self.on.touch(array.data, MIDDLE, value)
                self.on.look(array.data, MIDDLE)

        return self.way(run, MIDDLE // PAGE, note="PyOpenCL's pool", times=TEMPORARIES)

    def many_small(self):
        arrays = [self.made(SMALL) for _ in range(SMALL_BUFFERS)]

        def run(value):
            for i, (host, array) in enumerate(arrays):
                host.fill(value)
                cl.enqueue_copy(self.on.queue, array.data, host, is_blocking=False)
                self.on.look(array.data, SMALL, i)

        return self.way(run, SMALL_BUFFERS, times=SMALL_BUFFERS)


class Documented(Contender):
    """What PyDotCompute and unibuf have by the same names, where the host is the default device."""

    missing = "PyDotCompute has no device without a CUDA card: nothing moves"

    def __init__(self, make):
        self.make = make

    def read_at(self, side):
        buffer = self.make()
        buffer.fill(1)

        def run():
            for _ in range(ACCESSES):
                getattr(buffer, side)

        return Way(run, note=f".{side}", times=ACCESSES)

    def read_at_host(self):
        return self.read_at("host")

    def read_at_device(self):
        return self.read_at("device")

    def construct(self):
        def run():
            for _ in range(ACCESSES):
                self.make()

        return Way(run, note="with allocate()", times=ACCESSES)


def main():
    hints = {"mirrored": "gpu_preferred", "default": None}
    rows = play("PyOpenCL", ByPyOpenCL(Device()), {name: ByUnibuf(Device(), hint) for name, hint in hints.items()})
    unibuf.set_default_device("host")
    theirs = Documented(lambda: pydotcompute.UnifiedBuffer((LARGE,), np.uint32).allocate())
    ours = Documented(lambda: unibuf.UnifiedBuffer((LARGE,), np.uint32).allocate())
    rows += play("PyDotCompute", theirs, {"default": ours})
    with open(sys.argv[1], "w") as file:
        json.dump(rows, file, indent=4)


if __name__ == "__main__":
    main()
