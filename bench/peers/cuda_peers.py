#!/usr/bin/env python3
"""cuda_peers.py [--managed] ROWS.JSON: the Python package and its peers on a CUDA device, in turns: CuPy, torch, RMM's
pool under CuPy and, if asked for, managed memory. Prints which are left out.
"""

import argparse
import ctypes
import importlib
import json
from itertools import cycle, islice

import numpy as np
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
    ByUnibuf,
    Contender,
    OnDevice,
    Way,
    play,
)

WHERE = "cuda:0"


class Device:
    """What the works ask of a stream, and of the places where the elements are put that it has seen."""

    def finish(self):
        self.queue.synchronize()

    def seen(self, count):
        return int(self.fetch(self.places[:count]).sum(dtype=np.uint64))


class CuPyDevice(Device):
    """A stream, and arrays of CuPy."""

    where = WHERE

    def __init__(self):
        self.cupy = importlib.import_module("cupy")
        self.queue = self.cupy.cuda.Stream(non_blocking=True)
        self.places = self.empty(2 * SMALL_BUFFERS)

    def opened(self, lease):
        return lease

    def empty(self, *shape):
        with self.queue:
            return self.cupy.empty(shape, np.uint32)

    def send(self, array, host):
        array.set(host, stream=self.queue)

    def fetch(self, array):
        with self.queue:
            return array.get()

    def look(self, array, count, first=0):
        with self.queue:
            self.places[first : first + count // PAGE] = array.reshape(-1)[::PAGE]

    def touch(self, array, count, value):
        with self.queue:
            array.reshape(-1)[::PAGE] = value


class TorchDevice(Device):
    """A stream, and tensors of torch: of integers with a sign, as it does little with others."""

    def __init__(self):
        self.torch = importlib.import_module("torch")
        self.queue = self.torch.cuda.Stream()
        self.places = self.empty(2 * SMALL_BUFFERS)

    def empty(self, *shape):
        with self.torch.cuda.stream(self.queue):
            return self.torch.empty(shape, dtype=self.torch.int32, device="cuda:0")

    def send(self, array, host):
        with self.torch.cuda.stream(self.queue):
            array.copy_(self.torch.from_numpy(host.view(np.int32)), non_blocking=True)

    def fetch(self, array):
        with self.torch.cuda.stream(self.queue):
            return array.cpu().numpy()

    def look(self, array, count, first=0):
        with self.torch.cuda.stream(self.queue):
            self.places[first : first + count // PAGE] = array.view(-1)[::PAGE]

    def touch(self, array, count, value):
        with self.torch.cuda.stream(self.queue):
            array.view(-1)[::PAGE] = value


class ByArrays(OnDevice):
    """An array of the host's and one of the device's, copied by hand."""

    missing = "it does not know what is current: the program does"
    pool = "its own pool"

    def made(self, *shape):
        host = np.ones(shape, np.uint32)
        array = self.on.empty(*shape)
        self.on.send(array, host)
        self.on.finish()
        return host, array

    def construct(self):
        def run():
            for _ in range(ACCESSES):
                self.on.empty(LARGE)

        return Way(run, note=f"no memory of the host; {self.pool}", times=ACCESSES)

    def change(self, part, note):
        host, array = self.made(LARGE)

        def run(value):
            host[CHANGED] = value
            self.on.send(array[part], host[part])
            self.on.look(array, LARGE)

        return self.way(run, LARGE // PAGE, note=note)

    def change_named(self):
        return self.change(slice(CHANGED, CHANGED + 1), "4 bytes are copied")

    def change_unnamed(self):
        return self.change(slice(None), "all is copied")

    def rewrite(self, count):
        host, array = self.made(count)

        def run(value):
            host.fill(value)
            self.on.send(array, host)
            self.on.look(array, count)

        return self.way(run, count // PAGE)

    def part(self, index):
        _, square = self.made(SIDE, SIDE)
        return self.of_square(lambda value: self.on.touch(square, LARGE, value), lambda: self.on.fetch(square[index]))

    def row(self):
        return self.part(CHANGED_ROW)

    def column(self):
        return self.part((slice(None), CHANGED_COLUMN))

    def temporary(self):
        def run(value):
            for _ in range(self.temporaries):
                array = self.on.empty(MIDDLE)
                self.on.touch(array, MIDDLE, value)
                self.on.look(array, MIDDLE)

        return self.way(run, MIDDLE // PAGE, note=self.pool, times=self.temporaries)

    def many_small(self):
        arrays = cycle([(i, *self.made(SMALL)) for i in range(SMALL_BUFFERS)])

        def run(value):
            for i, host, array in islice(arrays, self.small_at_once):
                host.fill(value)
                self.on.send(array, host)
                self.on.look(array, SMALL, i)

        return self.way(run, SMALL_BUFFERS, times=self.small_at_once)


class ByRmm(Contender):
    """What depends on the pool that CuPy takes memory from."""

    missing = "as CuPy"

    def __init__(self):
        rmm = importlib.import_module("rmm")
        allocator = importlib.import_module("rmm.allocators.cupy").rmm_cupy_allocator
        rmm.reinitialize(pool_allocator=True)
        on = CuPyDevice()
        of_cupy = on.empty

        def empty(*shape):
            with on.cupy.cuda.using_allocator(allocator):
                return of_cupy(*shape)

        on.empty = empty
        arrays = ByArrays(on)
        arrays.pool = "RMM's pool"
        self.construct, self.temporary = arrays.construct, arrays.temporary


class Managed(ByArrays):
    """Memory that the driver moves page by page, when somebody touches it: nothing is sent."""

    missing = "the driver knows what is current, and cannot be asked"

    def __init__(self):
        super().__init__(CuPyDevice())
        self.pool = "CuPy's pool, over managed memory"
        of_cupy = self.on.cupy.cuda
        memory = of_cupy.MemoryPool(of_cupy.malloc_managed)

        def empty(*shape):
            with of_cupy.using_allocator(memory.malloc), self.on.queue:
                return self.on.cupy.empty(shape, np.uint32)

        self.on.empty = empty
        self.on.send = lambda array, host: None

    def made(self, *shape):
        array = self.on.empty(*shape)
        memory = (ctypes.c_char * array.nbytes).from_address(array.data.ptr)
        host = np.frombuffer(memory, np.uint32).reshape(shape)
        host[...] = 1
        return host, array

    def part(self, index):
        host, square = self.made(SIDE, SIDE)
        return self.of_square(lambda value: self.on.touch(square, LARGE, value), host[index].copy)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--managed", action="store_true", help="managed memory too")
    arguments.add_argument("rows")
    given = arguments.parse_args()
    peers = {"CuPy": lambda: ByArrays(CuPyDevice()), "torch": lambda: ByArrays(TorchDevice()), "RMM": ByRmm}
    if given.managed:
        peers["managed memory"] = Managed
    rows = []
    try:
        unibuf.get_accelerator(WHERE)
        ours = {"mirrored": ByUnibuf(CuPyDevice(), "gpu_preferred"), "default": ByUnibuf(CuPyDevice(), None)}
        for name, make in peers.items():
            try:
                peer = make()
            except ImportError as why:
                print(f"{name}: {why}")
                continue
            rows += play(name, peer, ours)
    except (unibuf.DeviceUnavailableError, ImportError) as why:
        print(f"{', '.join(peers)}: {why}")
    with open(given.rows, "w") as file:
        json.dump(rows, file, indent=4)


if __name__ == "__main__":
    main()
