#!/usr/bin/env python3
"""interop.py LIBRARY [PREFIX]: CuPy and torch write into unibuf's memory on their own streams; everybody reads what is newest.

LIBRARY is libgpu_interop.so. Only checks whose name begins with PREFIX are run. Each prints OK, FAIL or SKIP with the reason; the
last line counts. Ends with 1 where one failed. Those named driver_ need no package, and run on the test double too.
"""

import contextlib
import ctypes
import sys
import threading

COUNT = 1 << 20
SOME = 1 << 10


class Skip(Exception):
    pass


class Unibuf:
    """Buffers of floats, by the functions of interop.cpp."""

    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        for name, result, arguments in (
            ("error", ctypes.c_char_p, ()),
            ("create", ctypes.c_void_p, (ctypes.c_size_t, ctypes.c_bool)),
            ("destroy", None, (ctypes.c_void_p,)),
            ("fill", ctypes.c_bool, (ctypes.c_void_p, ctypes.c_float)),
            ("begin", ctypes.c_bool, (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_bool, ctypes.POINTER(ctypes.c_size_t))),
            ("end", ctypes.c_bool, (ctypes.c_void_p,)),
            ("read", ctypes.c_bool, (ctypes.c_void_p, ctypes.POINTER(ctypes.c_float), ctypes.c_size_t)),
            ("bytes_moved", ctypes.c_uint64, (ctypes.c_void_p,)),
        ):
            call = getattr(self.calls, f"interop_{name}")
            call.restype, call.argtypes = result, arguments
            setattr(self, name, call)

    def check(self, worked):
        if not worked:
            raise RuntimeError(self.error().decode())
        return worked


class Buffer:
    def __init__(self, unibuf, count=COUNT, pinned=False):
        self.unibuf, self.count, self.handle = unibuf, count, None
        self.handle = unibuf.check(unibuf.create(count, pinned))

    def __del__(self):
        if self.handle:
            self.unibuf.destroy(self.handle)

    def fill(self, value):
        self.unibuf.check(self.unibuf.fill(self.handle, value))

    @contextlib.contextmanager
    def leased(self, stream, writes=True):
        """The address of the device's copy, while the lease is held whose work is on `stream`."""
        address = ctypes.c_size_t()
        self.unibuf.check(self.unibuf.begin(self.handle, stream, writes, ctypes.byref(address)))
        try:
            yield address.value
        finally:
            self.unibuf.check(self.unibuf.end(self.handle))

    def read(self):
        got = (ctypes.c_float * self.count)()
        self.unibuf.check(self.unibuf.read(self.handle, got, self.count))
        return got

    def moved(self):
        return self.unibuf.bytes_moved(self.handle)


def expect(got, wanted, what="the host reads"):
    wrong = next((i for i, value in enumerate(got) if value != wanted), None)
    if wrong is not None:
        raise AssertionError(f"{what} {got[wrong]} at {wrong}, not {wanted}")


class Driver:
    """The driver itself, in the primary context: what no package is needed for."""

    def __enter__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxPushCurrent_v2", context)
        return self

    def __exit__(self, *_):
        popped = ctypes.c_void_p()
        self("cuCtxPopCurrent_v2", ctypes.byref(popped))

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} answered {status}")

    def stream(self):
        made = ctypes.c_void_p()
        non_blocking = 1
        self("cuStreamCreate", ctypes.byref(made), non_blocking)
        return made

    def set(self, stream, address, value, count):
        bits = ctypes.c_uint.from_buffer_copy(ctypes.c_float(value))
        self("cuMemsetD32Async", ctypes.c_uint64(address), bits, ctypes.c_size_t(count), stream)

    def is_idle(self, stream):
        return self.library.cuStreamQuery(ctypes.c_void_p(stream)) == 0


class Gate:
    """Holds back all later work on a stream until it is opened, or for ten seconds."""

    def __init__(self, driver, stream):
        self.driver, self.stream, self.opened = driver, stream, threading.Event()
        self.callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: self.opened.wait(10))
        driver("cuLaunchHostFunc", ctypes.c_void_p(stream), self.callback, None)

    def open_soon(self):
        """After the caller has begun to wait: the host has been left alone until here."""
        if self.driver.is_idle(self.stream):
            raise AssertionError("the host was stopped for the work on a stream")
        threading.Timer(0.05, self.opened.set).start()


def driver_writes_on_its_stream(unibuf, driver):
    stream = driver.stream()
    for pinned in (False, True):
        buffer = Buffer(unibuf, pinned=pinned)
        buffer.fill(1)
        with buffer.leased(stream.value) as address:
            driver.set(stream, address, 2, SOME)
        got = buffer.read()
        expect(got[:SOME], 2)
        expect(got[SOME:], 1)
        if buffer.moved() != 2 * 4 * COUNT:
            raise AssertionError(f"{buffer.moved()} bytes moved, not {2 * 4 * COUNT}")


def driver_is_waited_for(unibuf, driver):
    first, second = driver.stream(), driver.stream()
    buffer = Buffer(unibuf, pinned=True)
    buffer.fill(1)
    gate = Gate(driver, first.value)
    with buffer.leased(first.value) as address:
        driver.set(first, address, 2, COUNT)
    with buffer.leased(second.value) as address:
        driver.set(second, address, 3, SOME)
    gate.open_soon()
    got = buffer.read()
    expect(got[:SOME], 3)
    expect(got[SOME:], 2)


def imported(name):
    try:
        return __import__(name)
    except ImportError as missing:
        raise Skip(str(missing)) from None


def cupy_array(cupy, owner, address):
    memory = cupy.cuda.UnownedMemory(address, 4 * owner.count, owner)
    return cupy.ndarray((owner.count,), cupy.float32, cupy.cuda.MemoryPointer(memory, 0))


def cupy_writes_on_its_stream(unibuf, _):
    cupy = imported("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    kernel = cupy.ElementwiseKernel("float32 factor", "float32 x", "x = factor * x + 1", "interop")
    for pinned in (False, True):
        buffer = Buffer(unibuf, pinned=pinned)
        buffer.fill(20)
        with buffer.leased(stream.ptr) as address, stream:
            kernel(cupy.float32(2), cupy_array(cupy, buffer, address))
        expect(buffer.read(), 41)


def cupy_is_waited_for(unibuf, driver):
    cupy = imported("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.zeros(COUNT, cupy.float32).fill(7)  # compiles what fills
    buffer = Buffer(unibuf, pinned=True)
    buffer.fill(1)
    gate = Gate(driver, stream.ptr)
    with buffer.leased(stream.ptr) as address, stream:
        cupy_array(cupy, buffer, address).fill(7)
    gate.open_soon()
    expect(buffer.read(), 7)


class ForTorch:
    """Memory as torch.as_tensor takes it. No stream: the lease orders the work."""

    def __init__(self, owner, address):
        self.owner = owner
        self.__cuda_array_interface__ = {
            "shape": (owner.count,), "typestr": "<f4", "data": (address, False), "strides": None, "version": 3, "stream": None,
        }


def torch_array(torch, owner, address):
    array = torch.as_tensor(ForTorch(owner, address), device="cuda:0")
    if array.data_ptr() != address:
        raise AssertionError("torch made a copy")
    return array


def usable_torch():
    torch = imported("torch")
    if not torch.cuda.is_available():
        raise Skip("torch sees no CUDA device")
    return torch


def torch_writes_on_its_stream(unibuf, _):
    torch = usable_torch()
    for stream in (torch.cuda.Stream(), torch.cuda.default_stream()):
        buffer = Buffer(unibuf)
        buffer.fill(20)
        with buffer.leased(stream.cuda_stream) as address, torch.cuda.stream(stream):
            torch_array(torch, buffer, address).mul_(2).add_(1)
        expect(buffer.read(), 41)


def torch_is_waited_for(unibuf, driver):
    torch = usable_torch()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.zeros(COUNT, device="cuda:0").fill_(7)  # loads what fills
    buffer = Buffer(unibuf, pinned=True)
    buffer.fill(1)
    gate = Gate(driver, stream.cuda_stream)
    with buffer.leased(stream.cuda_stream) as address, torch.cuda.stream(stream):
        torch_array(torch, buffer, address).fill_(7)
    gate.open_soon()
    expect(buffer.read(), 7)


def torch_reads_what_cupy_writes(unibuf, driver):
    cupy, torch = imported("cupy"), usable_torch()
    writer, reader = cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()
    cupy.zeros(COUNT, cupy.float32).fill(7)
    with torch.cuda.stream(reader):
        torch.zeros(COUNT, device="cuda:0").aminmax()
    buffer = Buffer(unibuf, pinned=True)
    buffer.fill(1)
    gate = Gate(driver, writer.ptr)
    with buffer.leased(writer.ptr) as address, writer:
        cupy_array(cupy, buffer, address).fill(7)
    with buffer.leased(reader.cuda_stream, writes=False) as address, torch.cuda.stream(reader):
        least, most = torch_array(torch, buffer, address).aminmax()
        gate.open_soon()
        expect([least.item(), most.item()], 7, "torch reads")


def main(path, prefix=""):
    unibuf = Unibuf(path)
    counts = {"OK": 0, "FAIL": 0, "SKIP": 0}
    for check in (
        driver_writes_on_its_stream, driver_is_waited_for,
        cupy_writes_on_its_stream, cupy_is_waited_for,
        torch_writes_on_its_stream, torch_is_waited_for,
        torch_reads_what_cupy_writes,
    ):
        if not check.__name__.startswith(prefix):
            continue
        verdict, why = "OK", ""
        try:
            with Driver() as driver:
                check(unibuf, driver)
        except Skip as reason:
            verdict, why = "SKIP", f": {reason}"
        except Exception as failed:  # the others are of interest all the same
            verdict, why = "FAIL", f": {type(failed).__name__}: {failed}"
        counts[verdict] += 1
        print(f"{verdict:4}  {check.__name__}{why}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return counts["FAIL"] != 0 or counts["OK"] == 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
