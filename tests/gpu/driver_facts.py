"""driver_facts.py GROUP...: asks the CUDA driver for what unibuf takes for granted of it. Needs libcuda.so.1 alone.

Each line says what was found, and what unibuf needs where it needs something. Ends with 1 where that is not so. A
stream is held back by a host function that waits: a call that returns only when that has given up has stopped the host.
"""

from __future__ import annotations

import ctypes as c
import mmap
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

MEBIBYTE = 1 << 20
NOT_READY = 600
INVALID_VALUE = 1
ALREADY_REGISTERED = 712
NON_BLOCKING = 1
WAKES_THREADS = 1
DISABLE_TIMING = 2
PORTABLE_AND_MAPPED = 3
RELEASE_THRESHOLD = 4
ADDS_DEPENDENCIES = 3
LEGACY = c.c_void_p(1)

driver = c.CDLL("libcuda.so.1")
failures: list[str] = []


def call(name: str, *given: Any) -> int:
    return getattr(driver, name)(*given)


def must(name: str, *given: Any) -> None:
    status = call(name, *given)
    if status != 0:
        raise SystemExit(f"{name} answered {status}")


def tell(what: str, found: Any, needed: Any = None) -> None:
    good = needed is None or found == needed
    wish = "" if needed is None else f"; needed: {needed}"
    print(f"{'    ' if needed is None else 'ok  ' if good else 'FAIL'} {what}: {found}{wish}", flush=True)
    if not good:
        failures.append(what)


class PoolProperties(c.Structure):
    _fields_ = (
        ("allocation", c.c_int),
        ("handles", c.c_int),
        ("location", c.c_int * 2),
        ("security", c.c_void_p),
        ("most", c.c_size_t),
        ("reserved", c.c_ubyte * 56),
    )


class End(c.Structure):
    _fields_ = (
        ("column", c.c_size_t),
        ("row", c.c_size_t),
        ("memory", c.c_int),
        ("host", c.c_void_p),
        ("device", c.c_uint64),
        ("array", c.c_void_p),
        ("pitch", c.c_size_t),
    )


class Rectangle(c.Structure):
    _fields_ = (("source", End), ("target", End), ("width", c.c_size_t), ("height", c.c_size_t))


class Pages:
    """Whole pages of the host."""

    def __init__(self, size: int) -> None:
        self.bytes = mmap.mmap(-1, size)
        self.size = size
        self.address = c.addressof(c.c_char.from_buffer(self.bytes))

    def register(self, offset: int = 0, size: int | None = None) -> int:
        begin = c.c_void_p(self.address + offset)
        return call("cuMemHostRegister_v2", begin, c.c_size_t(size or self.size), PORTABLE_AND_MAPPED)

    def unregister(self) -> int:
        return call("cuMemHostUnregister", c.c_void_p(self.address))


class Card:
    """The primary context of device 0, current, with streams and a pool as unibuf has them."""

    def __init__(self) -> None:
        self.context = c.c_void_p()
        must("cuInit", 0)
        must("cuDevicePrimaryCtxRetain", c.byref(self.context), 0)
        must("cuCtxPushCurrent_v2", self.context)
        least, highest = c.c_int(), c.c_int()
        must("cuCtxGetStreamPriorityRange", c.byref(least), c.byref(highest))
        self.held, self.own, self.freeing = self.stream(), self.stream(), self.stream()
        self.idle = self.stream(highest.value)
        self.event, self.other_event = self.new_event(), self.new_event()
        self.pool = c.c_void_p()
        properties = PoolProperties(allocation=1, location=(1, 0))
        must("cuMemPoolCreate", c.byref(self.pool), c.byref(properties))
        must("cuMemPoolSetAttribute", self.pool, RELEASE_THRESHOLD, c.byref(c.c_uint64(1 << 31)))
        must("cuMemPoolSetAttribute", self.pool, ADDS_DEPENDENCIES, c.byref(c.c_int(0)))
        self._open = threading.Event()
        self._gave_up = False
        self._patience = 0.0
        self._wait = c.CFUNCTYPE(None, c.c_void_p)(self._wait_until_open)

    def stream(self, priority: int = 0) -> c.c_void_p:
        made = c.c_void_p()
        must("cuStreamCreateWithPriority", c.byref(made), NON_BLOCKING, priority)
        return made

    def new_event(self, flags: int = DISABLE_TIMING) -> c.c_void_p:
        made = c.c_void_p()
        must("cuEventCreate", c.byref(made), flags)
        return made

    def _wait_until_open(self, _: Any) -> None:
        self._gave_up = not self._open.wait(self._patience)

    def hold(self, seconds: float = 3.0) -> None:
        self._patience = seconds
        self._open.clear()
        must("cuLaunchHostFunc", self.held, self._wait, None)

    def let_go(self) -> bool:
        """Whether the stream was held back until now."""
        gave_up = self._gave_up
        self._open.set()
        must("cuCtxSynchronize")
        self._gave_up = False
        return not gave_up

    def mark_all(self) -> int:
        return call("cuCtxRecordEvent", self.context, self.event)

    def allocate(self, size: int) -> tuple[int, c.c_uint64]:
        """As unibuf does: on a stream that nothing waits on, and there for all streams when this returns."""
        made = c.c_uint64()
        status = call("cuMemAllocFromPoolAsync", c.byref(made), c.c_size_t(size), self.pool, self.idle)
        return status or call("cuStreamSynchronize", self.idle), made

    def write(self, to: int, host: int, size: int, stream: c.c_void_p) -> int:
        return call("cuMemcpyHtoDAsync_v2", c.c_uint64(to), c.c_void_p(host), c.c_size_t(size), stream)

    def stops_the_host(self, what: str, work: Callable[[], int], needed: bool | None = None) -> None:
        self.hold()
        status = work()
        stopped = not self.let_go()
        tell(f"{what} under a held stream stops the host, status {status}", stopped, needed)


def attributes(_: Card) -> None:
    version = c.c_int()
    must("cuDriverGetVersion", c.byref(version))
    tell("version of the driver", version.value)
    for name, number in (
        ("reads pageable memory", 88),
        ("takes registered addresses", 91),
        ("registers host memory", 99),
        ("reads pageable memory by the host's tables", 100),
        ("has pools", 115),
    ):
        value = c.c_int(-1)
        call("cuDeviceGetAttribute", c.byref(value), number, 0)
        tell(f"{name} (attribute {number})", value.value)


def order(card: Card) -> None:
    card.hold()
    must("cuCtxRecordEvent", card.context, card.event)
    tell("an event of the context, while a stream is held", call("cuEventQuery", card.event), NOT_READY)
    must("cuStreamWaitEvent", card.own, card.event, 0)
    must("cuEventRecord", card.other_event, card.own)
    time.sleep(0.05)
    tell("a stream behind that event", call("cuEventQuery", card.other_event), NOT_READY)
    card.let_go()
    tell("both, later", (call("cuEventQuery", card.event), call("cuEventQuery", card.other_event)), (0, 0))


def stalls(card: Card) -> None:
    _, memory = card.allocate(MEBIBYTE)
    card.stops_the_host("cuCtxRecordEvent", card.mark_all, False)
    card.stops_the_host("an allocation of 1 MiB", lambda: card.allocate(MEBIBYTE)[0], False)
    card.stops_the_host("an allocation of 256 MiB", lambda: card.allocate(256 * MEBIBYTE)[0], False)
    card.stops_the_host("cuMemFreeAsync", lambda: call("cuMemFreeAsync", memory, card.idle), False)
    pages, host = Pages(8 * MEBIBYTE), c.c_void_p()
    card.stops_the_host("cuMemHostRegister", pages.register)
    card.stops_the_host("cuMemHostUnregister", pages.unregister)
    card.stops_the_host("cuMemHostAlloc", lambda: call("cuMemHostAlloc", c.byref(host), c.c_size_t(MEBIBYTE), 1))
    card.stops_the_host("cuMemFreeHost", lambda: call("cuMemFreeHost", host))


def queues(card: Card) -> None:
    """Which streams stand behind a held one, as they share its queue of the hardware."""
    _, memory = card.allocate(MEBIBYTE)
    others = [card.stream() for _ in range(40)]
    for i, stream in enumerate((card.idle, *others)):  # what a driver sets up at first use is no wait
        must("cuMemsetD8Async", c.c_uint64(memory.value + i), 0, c.c_size_t(1), stream)
    must("cuCtxSynchronize")
    card.hold(10.0)
    behind = []
    for i, stream in enumerate((card.idle, *others)):
        must("cuMemsetD8Async", c.c_uint64(memory.value + i), 0, c.c_size_t(1), stream)
        must("cuEventRecord", card.event, stream)
        end = time.perf_counter() + (2.0 if i == 0 else 0.05)
        while (status := call("cuEventQuery", card.event)) == NOT_READY and time.perf_counter() < end:
            pass
        behind.append(status == NOT_READY)
    card.let_go()
    tell("the stream of the highest priority stands behind a held one", behind[0], False)
    tell("streams of 40 that do", sum(behind[1:]))


def depths(card: Card) -> None:
    """How much can be queued behind a held stream before the driver stops the host."""
    pages = Pages(MEBIBYTE)
    tell("registering", pages.register(), 0)
    _, memory = card.allocate(MEBIBYTE)
    events = [card.new_event() for _ in range(2000)]
    wakers = [card.new_event(DISABLE_TIMING | WAKES_THREADS) for _ in range(200)]

    def behind(what: str, works: Iterator[Callable[[], int]], needed: bool | None = None) -> None:
        card.hold()
        queued = 0
        for work in works:
            begin = time.perf_counter()
            work()
            if time.perf_counter() - begin > 1:
                break
            queued += 1
        stopped = not card.let_go()
        tell(f"a held stream has {queued} {what} behind it, and stops the host", stopped, needed)

    def record(event: c.c_void_p) -> int:
        return call("cuEventRecord", event, card.held)

    behind("events", (lambda event=event: record(event) for event in events), False)
    behind("events that wake threads", (lambda event=event: record(event) for event in wakers))
    copies = (lambda: card.write(memory.value, pages.address, 60_000, card.held) for _ in range(900))
    behind("copies of 60,000 bytes", copies, False)
    must("cuCtxSynchronize")
    pages.unregister()


def sizes(card: Card) -> None:
    """Up to which size pageable memory is taken at once."""
    _, memory = card.allocate(8 * MEBIBYTE)
    pageable, registered = Pages(16 * MEBIBYTE), Pages(16 * MEBIBYTE)
    must("cuStreamSynchronize", card.idle)
    tell("registering", registered.register(), 0)
    for size in (64, 4096, 65536, 65537, MEBIBYTE):
        card.stops_the_host(
            f"a copy of {size} pageable bytes",
            lambda size=size: card.write(memory.value, pageable.address, size, card.held),
            False if size <= 65536 else None,
        )
    card.stops_the_host(
        "a copy of 8 MiB of registered memory",
        lambda: card.write(memory.value, registered.address, 8 * MEBIBYTE, card.held),
        False,
    )

    def rows(host: int) -> int:
        source = End(memory=1, host=host, pitch=8192)
        target = End(memory=2, device=memory.value, pitch=8192)
        return call("cuMemcpy2DAsync_v2", c.byref(Rectangle(source, target, 4096, 8)), card.held)

    card.stops_the_host("8 rows of 4 KiB of registered memory", lambda: rows(registered.address), False)
    card.stops_the_host("8 rows of 4 KiB of pageable memory", lambda: rows(pageable.address))


def registered(card: Card) -> None:
    pages, pageable = Pages(MEBIBYTE), Pages(MEBIBYTE)
    tell("registering", pages.register(), 0)
    device, kind = c.c_uint64(), c.c_uint()
    must("cuMemHostGetDevicePointer_v2", c.byref(device), c.c_void_p(pages.address), 0)
    tell("the device has the host's address", device.value == pages.address)
    asked = call("cuPointerGetAttribute", c.byref(kind), 2, c.c_uint64(pages.address))
    tell("the type of registered memory", (asked, kind.value), (0, 1))
    tell("the type of pageable memory", call("cuPointerGetAttribute", c.byref(kind), 2, c.c_uint64(pageable.address)))
    tell("registering a part again", pages.register(4096, 4096), ALREADY_REGISTERED)
    _, memory = card.allocate(2 * MEBIBYTE)
    tell("unregistering", pages.unregister(), 0)
    tell("registering a half", pages.register(0, MEBIBYTE // 2), 0)
    tell("a copy across its end", card.write(memory.value, pages.address, MEBIBYTE, card.own), INVALID_VALUE)
    must("cuCtxSynchronize")


def batches(card: Card) -> None:
    parts, size, apart = 1000, 1024, 8192
    pages = Pages(parts * apart)
    tell("registering", pages.register(), 0)
    _, memory = card.allocate(pages.size)
    offsets = [i * apart + i % 3 * size for i in range(parts)]

    def batch(to: int, source: int, stream: c.c_void_p) -> int:
        many, count = c.c_uint64 * parts, c.c_size_t(parts)
        sizes = (c.c_size_t * parts)(*[size] * parts)
        in_stream_order, begin, failed = (c.c_int * 6)(1), c.c_size_t(0), c.c_size_t()
        targets, sources = many(*(to + each for each in offsets)), many(*(source + each for each in offsets))
        kinds = (in_stream_order, c.byref(begin), c.c_size_t(1))
        return call("cuMemcpyBatchAsync", targets, sources, sizes, count, *kinds, c.byref(failed), stream)

    for each in offsets:
        pages.bytes[each : each + size] = bytes([each // size % 251]) * size
    tell("1,000 scattered parts to the device", batch(memory.value, pages.address, card.own), 0)
    must("cuCtxSynchronize")
    pages.bytes[:] = bytes(pages.size)
    tell("and back", batch(pages.address, memory.value, card.own), 0)
    must("cuCtxSynchronize")
    right = all(pages.bytes[each : each + size] == bytes([each // size % 251]) * size for each in offsets)
    tell("they are the same", right, True)
    tell("on the legacy stream", batch(memory.value, pages.address, LEGACY), INVALID_VALUE)
    must("cuCtxSynchronize")


def captures(card: Card) -> None:
    """What breaks a capture that is under way on another stream."""
    pages, kind = Pages(8 * MEBIBYTE), c.c_uint()

    def left_whole(work: Callable[[], int]) -> bool:
        stream, graph, mode = card.stream(), c.c_void_p(), c.c_int(2)
        must("cuStreamBeginCapture_v2", stream, 0)
        call("cuThreadExchangeStreamCaptureMode", c.byref(mode))
        work()
        call("cuThreadExchangeStreamCaptureMode", c.byref(mode))
        whole = call("cuStreamEndCapture", stream, c.byref(graph)) == 0
        must("cuCtxSynchronize")
        return whole

    tell("a fence of the context leaves it whole", left_whole(card.mark_all))
    tell("an allocation does", left_whole(lambda: card.allocate(MEBIBYTE)[0]), True)
    tell("registering does", left_whole(pages.register), True)
    tell("unregistering does", left_whole(pages.unregister), True)
    tell("cuEventQuery does", left_whole(lambda: call("cuEventQuery", card.other_event)), True)
    address = c.c_uint64(pages.address)
    asked = left_whole(lambda: call("cuPointerGetAttribute", c.byref(kind), 2, address))
    tell("cuPointerGetAttribute does", asked, True)

    def asked_amid(relaxed: bool) -> tuple[int, bool]:
        """What the driver answers about the id of a stream amid its capture, and whether that leaves it whole."""
        stream, graph, mode, number = card.stream(), c.c_void_p(), c.c_int(2), c.c_uint64()
        must("cuStreamBeginCapture_v2", stream, 0)
        if relaxed:
            call("cuThreadExchangeStreamCaptureMode", c.byref(mode))
        status = call("cuStreamGetId", stream, c.byref(number))
        if relaxed:
            call("cuThreadExchangeStreamCaptureMode", c.byref(mode))
        whole = call("cuStreamEndCapture", stream, c.byref(graph)) == 0
        return status, whole

    for relaxed in (False, True):
        status, whole = asked_amid(relaxed)
        tell(f"cuStreamGetId of the captured stream{', relaxed' if relaxed else ''}, answers", status)
        tell("and leaves it whole", whole)


def pools(card: Card) -> None:
    """Whether an allocation waits for memory that a held stream is to give back."""
    free, total = c.c_size_t(), c.c_size_t()
    must("cuMemGetInfo_v2", c.byref(free), c.byref(total))
    most = free.value * 6 // 10 // (2 * MEBIBYTE) * 2 * MEBIBYTE
    status, memory = card.allocate(most)
    tell("allocating 60 % of what is free", status, 0)
    card.hold(20.0)  # a test double takes seconds for so much memory
    must("cuCtxRecordEvent", card.context, card.event)
    must("cuStreamWaitEvent", card.freeing, card.event, 0)
    must("cuMemFreeAsync", memory, card.freeing)
    card.allocate(most)
    tell("allocating it again waits for a held stream", not card.let_go(), False)


def costs(card: Card) -> None:
    pages = Pages(64 * MEBIBYTE)
    _, memory = card.allocate(pages.size)

    def microseconds(work: Callable[[], Any], times: int = 200) -> float:
        work()
        begin = time.perf_counter()
        for _ in range(times):
            work()
        return round((time.perf_counter() - begin) / times * 1e6, 2)

    more: list[c.c_void_p] = []
    for streams in (8, 16, 64):
        while len(more) < streams:
            more.append(card.stream())
        tell(f"us for a fence of the context, {streams} more streams", microseconds(card.mark_all))
    tell("us for an event of a stream", microseconds(lambda: call("cuEventRecord", card.event, card.own)))
    begin = time.perf_counter()
    pages.register()
    tell("ms to register 64 MiB", round((time.perf_counter() - begin) * 1e3, 2))

    def copy() -> None:
        card.write(memory.value, pages.address, pages.size, card.own)
        must("cuStreamSynchronize", card.own)

    tell("GB/s of registered memory to the device", round(pages.size / microseconds(copy, 5) / 1e3, 1))


GROUPS = (attributes, order, stalls, queues, depths, sizes, registered, batches, captures, pools, costs)
# What unibuf does without where a driver is too old for it.
NEEDS = {
    each: "cuMemcpyBatchAsync" if each is batches else "cuCtxRecordEvent"
    for each in (order, stalls, captures, pools, costs, batches)
}


def main() -> int:
    known = {each.__name__: each for each in GROUPS}
    chosen = sys.argv[1:] or list(known)
    unknown = [each for each in chosen if each not in known]
    if unknown:
        print(f"there is no group {unknown[0]}; there are {', '.join(known)}")
        return 2
    card = Card()
    for each in chosen:
        needed = NEEDS.get(known[each])
        if needed and not hasattr(driver, needed):
            print(f"     this driver has no {needed}, which {each} is about")
            continue
        known[each](card)
    print(f"{len(failures)} of what unibuf needs is not so" if failures else "all is as unibuf needs it")
    must("cuCtxPopCurrent_v2", c.byref(c.c_void_p()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
