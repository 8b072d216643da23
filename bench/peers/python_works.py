"""python_works.py: works of works.hpp in Python, timed in turns in one process, and the rows that come of it."""

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
import unibuf

SIDE = 4096
LARGE = SIDE * SIDE  # elements of 4 bytes, as all counts here
MIDDLE = (1 << 20) // 4
SMALL = PAGE = 4096 // 4
CHANGED_ROW, CHANGED_COLUMN = 1234, 2 * PAGE
CHANGED = CHANGED_ROW * SIDE + CHANGED_COLUMN
ACCESSES, TEMPORARIES, SMALL_BUFFERS = 1000, 100, 10_000

# Name, unit, rounds, and the method of a contender.
WORKS = [
    ("read what is current at the host", "ns", 51, "read_at_host"),
    ("read what is current at the device", "ns", 51, "read_at_device"),
    ("construct and destroy, 64 MiB", "us", 11, "construct"),
    ("change one element of 64 MiB, named", "ms", 51, "change_named"),
    ("change one element of 64 MiB", "ms", 51, "change_unnamed"),
    ("rewrite 1 MiB", "ms", 101, "rewrite_middle"),
    ("rewrite 64 MiB", "ms", 31, "rewrite_large"),
    ("read a row of 4096 x 4096", "us", 51, "row"),
    ("read a column of 4096 x 4096", "us", 51, "column"),
    ("a temporary of 1 MiB", "us", 31, "temporary"),
    ("a small buffer of 10,000, 4 KiB", "us", 7, "many_small"),
]


@dataclass
class Way:
    """How somebody does a work. Without `run` it cannot, and `note` says why."""

    run: Callable | None
    result: Callable = lambda: 0  # of the last run: the same for everybody
    prepare: Callable = lambda: None  # before each run, not timed
    note: str = ""
    times: int = 1  # that a run does the work


class Contender:
    """A peer or unibuf: `missing`, where it has no notion of a work."""

    missing = "no notion of it"

    def __getattr__(self, name):
        if not any(name == each[3] for each in WORKS):
            raise AttributeError(name)
        return lambda: Way(None, note=self.missing)


class OnDevice(Contender):
    """Works of which each run has a value of its own. `on` is a device, which uses an element of each page."""

    temporaries = TEMPORARIES  # that a run makes
    small_at_once = SMALL_BUFFERS  # that a run rewrites: it goes on where the last one has ended

    def __init__(self, on):
        self.on = on

    def way(self, run, seen, **other):
        """`run` gets a value, and ends when the device is done."""
        values = iter(range(2, 1 << 31))

        def whole():
            run(next(values))
            self.on.finish()

        return Way(whole, result=lambda: self.on.seen(seen), **other)

    def of_square(self, touch, read, **other):
        """`touch` gets a value, with which the device writes; `read` returns elements at the host."""
        values = iter(range(2, 1 << 31))
        part = []

        def prepare():
            touch(next(values))
            self.on.finish()

        def run():
            part[:] = [int(read().sum(dtype=np.uint64))]

        return Way(run, result=lambda: part[0], prepare=prepare, **other)

    def rewrite_middle(self):
        return self.rewrite(MIDDLE)

    def rewrite_large(self):
        return self.rewrite(LARGE)


class ByUnibuf(OnDevice):
    def __init__(self, on, hint):
        super().__init__(on)
        self.hint = hint

    def made(self, *shape):
        buffer = unibuf.UnifiedBuffer(shape, np.uint32, hint=self.hint)
        with buffer.write("host") as array:
            array[...] = 1
        self.look(buffer)
        self.on.finish()
        return buffer

    def look(self, buffer, first=0):
        with self.on.opened(buffer.read(self.on.where, self.on.queue)) as memory:
            self.on.look(memory, buffer.size, first)

    def construct(self):
        def run():
            for _ in range(ACCESSES):
                unibuf.UnifiedBuffer((LARGE,), np.uint32, hint=self.hint)

        return Way(run, times=ACCESSES)

    def change_named(self):
        buffer = self.made(LARGE)

        def run(value):
            with buffer.write("host", offset=CHANGED, count=1) as part:
                part[0] = value
            self.look(buffer)

        return self.way(run, LARGE // PAGE)

    def change_unnamed(self):
        buffer = self.made(LARGE)
        kept = buffer.host

        def run(value):
            kept[CHANGED] = value
            self.look(buffer)

        return self.way(run, LARGE // PAGE)

    def rewrite(self, count):
        buffer = self.made(count)

        def run(value):
            with buffer.write("host") as array:
                array.fill(value)
            self.look(buffer)

        return self.way(run, count // PAGE)

    def part(self, index):
        square = self.made(SIDE, SIDE)

        def touch(value):
            with self.on.opened(square.read_write(self.on.where, self.on.queue)) as memory:
                self.on.touch(memory, LARGE, value)

        def read():
            return square.view[index].to_numpy()

        return self.of_square(touch, read)

    def row(self):
        return self.part(CHANGED_ROW)

    def column(self):
        return self.part((slice(None), CHANGED_COLUMN))

    def temporary(self):
        pool = unibuf.get_memory_pool()

        def run(value):
            for _ in range(self.temporaries):
                with pool.scoped((MIDDLE,), np.uint32, hint=self.hint) as buffer:
                    with self.on.opened(buffer.write(self.on.where, self.on.queue)) as memory:
                        self.on.touch(memory, MIDDLE, value)
                    self.look(buffer)

        return self.way(run, MIDDLE // PAGE, times=self.temporaries)

    def many_small(self):
        buffers = cycle([(i, self.made(SMALL)) for i in range(SMALL_BUFFERS)])

        def run(value):
            for i, buffer in islice(buffers, self.small_at_once):
                with buffer.write("host") as array:
                    array.fill(value)
                self.look(buffer, i)

        return self.way(run, SMALL_BUFFERS, times=self.small_at_once)


class Layer:
    """The layer that counts what OpenCL moves, where OPENCL_LAYERS names it."""

    def __init__(self):
        path = os.environ.get("OPENCL_LAYERS")
        self.count = ctypes.CDLL(path).unibuf_peers_moved if path else None

    def moved(self):
        copied, mapped = ctypes.c_uint64(), ctypes.c_uint64()
        if self.count:
            self.count(ctypes.byref(copied), ctypes.byref(mapped))
        return copied.value, mapped.value


def turn(way, layer):
    """Seconds of one, bytes by OpenCL (copied, mapped), and those that unibuf counts."""
    way.prepare()
    before, counted = layer.moved(), unibuf.total_statistics().bytes_moved
    begin = time.perf_counter()
    way.run()
    seconds = time.perf_counter() - begin
    moved = [(after - first) // way.times for after, first in zip(layer.moved(), before, strict=True)]
    return seconds / way.times, moved, (unibuf.total_statistics().bytes_moved - counted) // way.times


def row_of(work, name, peer, ours, placement, layer):
    title, unit, rounds, method = work
    row = {"work": title, "peer": name, "placement": placement, "unit": unit}
    theirs = getattr(peer, method)()
    row["note"] = theirs.note
    if theirs.run is None:
        return row
    way = getattr(ours, method)()
    taken = []
    for i in range(rounds + 1):  # the first one is not timed: memory is made
        of_peer, of_unibuf = turn(theirs, layer), turn(way, layer)
        if theirs.result() != way.result():
            raise RuntimeError(f"{title}: {name} and unibuf have different results")
        if i:
            taken.append((of_peer[0], of_unibuf[0], of_peer[0] / of_unibuf[0]))
    row["peer_seconds"], row["unibuf_seconds"], row["ratio"] = map(statistics.median, zip(*taken, strict=True))
    if layer.count:
        row["bytes"], row["mapped_bytes"] = of_peer[1]
    row["unibuf_bytes"] = of_unibuf[2]
    return row


def play(name, peer, by_placement):
    """The rows of a peer against unibuf, of which `by_placement` has a contender for each placement."""
    layer = Layer()
    rows = []
    for work in WORKS:
        for placement, ours in by_placement.items():
            print(f"{name}: {work[0]}, {placement}", file=sys.stderr)
            rows.append(row_of(work, name, peer, ours, placement, layer))
            if "ratio" not in rows[-1]:
                break
    return rows
