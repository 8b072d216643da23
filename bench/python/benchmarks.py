#!/usr/bin/env python3
"""benchmarks.py --json SUMMARY.JSON: what the Python package costs, beside its limit, into unibuf_bench's summary.

Each figure and its limit are medians over processes of pyperf, which runs this file again for each. PyDotCompute is the
package of that name, not the one in compat/.
"""

import atexit
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import timeit
from dataclasses import dataclass

import numpy as np
import pydotcompute
import pyperf
import unibuf
from rows import add_to, show
from unibuf import UnifiedBuffer

ELEMENTS = 1000
LARGE = 64 << 20  # elements: 256 MiB of float32

SEPARATE = "debug:0"  # a device with memory of its own, on any machine


@dataclass
class Claim:
    name: str
    unit: str
    goal: str
    reached: object  # (measured, ratio) -> bool
    measured: tuple  # (statement, what it works on)
    limit: tuple
    note: str
    scale: float = 1e9
    in_turns: bool = False  # the two are done in turns in one process: what disturbs one disturbs both


def unified(device=SEPARATE, elements=ELEMENTS, **options):
    unibuf.set_default_device(device)
    buffer = unibuf.UnifiedBuffer((elements,), np.float32, **options)
    buffer.host[:] = 1
    _ = buffer.device
    return buffer


def documented():
    buffer = pydotcompute.UnifiedBuffer((ELEMENTS,), np.float32).allocate()
    buffer.mark_host_dirty()
    return buffer


def marked_by_the_host():
    buffer = unified()
    buffer.mark_host_dirty()
    return buffer


def kept(**options):
    """A large buffer, and an array that is kept and written through."""
    buffer = unified(elements=LARGE, **options)
    return buffer, buffer.host


def untracked():
    return kept(tracking="off")


@functools.cache
def bytecode():
    """A folder for bytecode, as an installed package has it; the first import writes it."""
    folder = tempfile.mkdtemp(prefix="unibuf-bytecode-")
    atexit.register(shutil.rmtree, folder)
    return folder


def seconds_to_import(module):
    code = f"import time\nbegin = time.perf_counter()\nimport {module}\nprint(time.perf_counter() - begin)"
    # NumPy's BLAS starts threads, which spin beside what is imported next.
    settings = {"PYTHONPYCACHEPREFIX": bytecode(), "PYTHONDONTWRITEBYTECODE": "", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **settings}
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=environment).stdout)


def bytes_of_small(make):
    """What each of 100,000 small buffers takes of the process's memory."""
    code = (
        "import gc, unibuf, numpy\n"
        "def held():\n"
        "    gc.collect()\n"
        "    return int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        f"made = [None] * 100_000\n{make}\nbefore = held()\n"
        f"for i in range(len(made)): made[i] = {make}\n"
        "print((held() - before) / len(made))"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)


def one_element(of):
    buffer, array = of
    array[LARGE // 2] += 1
    _ = buffer.device


def all_elements(of):
    buffer, array = of
    array.fill(2)
    _ = buffer.device


def whole_transfer(of):
    of[0].mark_host_dirty()
    _ = of[0].device


def sent():
    """A pinned buffer of 64 MiB, whose host copy is sent again and again."""
    return unified("cuda:0", LARGE // 4, pinned=True)


def send(buffer):
    buffer.mark_host_dirty()
    _ = buffer.device


def send_by_cupy(array):
    import cupy

    cupy.asarray(array)
    cupy.cuda.Device().synchronize()


def send_by_torch(array):
    import torch

    torch.from_numpy(array).to("cuda")
    torch.cuda.synchronize()


def small():
    """A small buffer at the host."""
    return unified("host", 16)


def add_one(of):
    return of + 1


def array_and_block(of):
    """What that consists of, by hand."""
    with of.read("host") as array:
        return array + 1


def launch():
    """A kernel that does nothing, its ten buffers, which are current at opencl:0, and the accesses to them."""
    import pyopencl

    context = unibuf.get_accelerator("opencl:0").queue.context
    parameters = ", ".join(f"global float* x{index}" for index in range(10))
    kernel = pyopencl.Program(context, f"kernel void nothing({parameters}, int n) {{}}").build().nothing
    buffers = [unibuf.UnifiedBuffer(ELEMENTS, device="opencl:0").fill(1) for _ in range(10)]
    for each in buffers:
        with each.read_write("opencl:0"):
            pass
    memories = [pyopencl.Buffer(context, pyopencl.mem_flags.READ_WRITE, 4 * ELEMENTS) for _ in range(10)]
    return kernel, buffers, memories, np.int32(1)


def launch_on_buffers(of):
    from unibuf.opencl import enqueue, read_write

    kernel, buffers, _, number = of
    enqueue(kernel, 1, *map(read_write, buffers), number)


def launch_by_pyopencl(of):
    kernel, _, memories, number = of
    kernel(unibuf.get_accelerator("opencl:0").queue, (1,), None, *memories, number)


def of_opencl():
    if not importlib.util.find_spec("pyopencl") or all(each.name != "opencl:0" for each in unibuf.devices()):
        return []
    return [
        Claim("python.launch", "us", "ratio <= 1.5", lambda measured, ratio: ratio <= 1.5, (launch_on_buffers, launch),
              (launch_by_pyopencl, launch), "of ten buffers, at opencl:0; limit: PyOpenCL with ten cl.Buffer", 1e6,
              in_turns=True)
    ]  # fmt: skip


def of_a_card():
    """Against other libraries, from the same pinned memory."""
    others = {"cupy": send_by_cupy, "torch": send_by_torch}
    return [
        Claim(f"python.to_device.{name}", "ms", "ratio <= 1.05", lambda measured, ratio: ratio <= 1.05,
              (send, sent), (by, lambda: sent().host), f"64 MiB to cuda:0; limit: {name}'s", 1e3)
        for name, by in others.items()
        if importlib.util.find_spec(name)
    ]  # fmt: skip


def devices():
    """Those that a copy is separate at, with what shows its array; the others are named in the note."""
    found = {each.name: each for each in unibuf.devices()}
    return [SEPARATE] + [name for name, each in found.items() if name.startswith("cuda:") and each.available][:1]


def claims():
    device = devices()[-1]
    missing = "" if device.startswith("cuda") else "; skipped: no CUDA device, so nothing against CuPy and torch"
    ratio_at_most = lambda bound: lambda measured, ratio: ratio <= bound  # noqa: E731
    return [
        Claim("python.host", "ns", "ratio <= 0.3", ratio_at_most(0.3), ("x.host", unified), ("x.host", documented),
              "limit: PyDotCompute's"),
        Claim("python.device", "ns", "ratio <= 0.3", ratio_at_most(0.3), ("x.device", lambda: unified(device)),
              ("x.device", documented), f"at {device}; limit: PyDotCompute's, of the host" + missing),
        Claim("python.device_is_host", "ns", "ratio <= 0.3", ratio_at_most(0.3), ("x.device", lambda: unified("host")),
              ("x.device", documented), "where the host is the device; limit: PyDotCompute's"),
        Claim("python.construct", "ns", "ratio <= 0.05", ratio_at_most(0.05),
              ("x((1000,), float32)", lambda: unibuf.UnifiedBuffer),
              ("x((1000,), float32)", lambda: pydotcompute.UnifiedBuffer), "limit: PyDotCompute's"),
        Claim("python.mark", "ns", "ratio <= 0.4", ratio_at_most(0.4), ("x.mark_host_dirty()", marked_by_the_host),
              ("x.mark_host_dirty()", documented), "that changes nothing; limit: PyDotCompute's"),
        Claim("python.mark_in_turns", "ns", "ratio <= 2", ratio_at_most(2),
              ("x.mark_host_dirty(); x.mark_device_dirty()", unified),
              ("x.mark_host_dirty(); x.mark_device_dirty()", documented), "two marks; limit: PyDotCompute's"),
        Claim("python.to_numpy", "ms", "ratio <= 1.05", ratio_at_most(1.05),
              (UnifiedBuffer.to_numpy, lambda: unified(elements=LARGE // 4)),
              (np.copy, lambda: unified(elements=LARGE // 4).host), "64 MiB; limit: numpy.copy", 1e3, in_turns=True),
        Claim("python.one_element", "ms", "ratio <= 0.01", ratio_at_most(0.01), (one_element, kept),
              (whole_transfer, kept), f"of 256 MiB, then .device at {SEPARATE}; limit: the whole", 1e3),
        Claim("python.full_rewrite", "ms", "ratio <= 1.15", ratio_at_most(1.15), (all_elements, kept),
              (all_elements, untracked), f"of 256 MiB, then .device at {SEPARATE}; limit: without tracking", 1e3,
              in_turns=True),
        Claim("python.import", "ms", "limit + 15 ms", lambda measured, ratio: measured - measured / ratio <= 15,
              (seconds_to_import, "unibuf"), (seconds_to_import, "numpy"), "limit: numpy alone, which it needs", 1e3),
        Claim("python.small_buffers", "bytes", "<= 400 bytes", lambda measured, ratio: measured <= 400,
              (bytes_of_small, "unibuf.UnifiedBuffer(16)"), (bytes_of_small, "numpy.empty(16, 'f4')"),
              "each of 100,000 before it has content; limit: arrays, with content", 1),
        Claim("python.operator", "us", "ratio <= 1.5", ratio_at_most(1.5), (add_one, small), (array_and_block, small),
              "`b + 1` of 16 elements at the host; limit: the array's, in a block", 1e6, in_turns=True),
        *of_opencl(),
        *(of_a_card() if device.startswith("cuda") else []),
    ]  # fmt: skip


def measure_ratio(runner, name, work, limit):
    """How many times as long as its limit the work takes: both are done in turns, and their times compared. What pyperf
    takes for seconds is that ratio."""
    (what, make), (by_hand, make_limit) = work, limit
    made = []

    def run(loops):
        if not made:
            made.extend((make(), make_limit()))
            for _ in range(8):  # the first times are others
                what(made[0])
                by_hand(made[1])
        taken = [0.0, 0.0]
        for _ in range(8 * loops):
            begin = time.perf_counter()
            what(made[0])
            between = time.perf_counter()
            by_hand(made[1])
            taken[0] += between - begin
            taken[1] += time.perf_counter() - between
        return loops * taken[0] / taken[1]

    return runner.bench_time_func(name, run)


def measure(runner, name, work):
    """Seconds, by the median."""
    what, of = work
    if isinstance(what, str):
        names = {"float32": np.float32}
        timer = timeit.Timer(what, "x = make()", globals={"make": of, **names})
        return runner.bench_time_func(name, timer.timeit)
    if what in (seconds_to_import, bytes_of_small):
        return runner.bench_time_func(name, lambda loops: sum(what(of) for _ in range(loops)))
    made = []

    def run(loops):
        if not made:
            made.append(of())
            for _ in range(8):  # the first times are others
                what(made[0])
        begin = time.perf_counter()
        for _ in range(loops):
            what(made[0])
        return time.perf_counter() - begin

    return runner.bench_time_func(name, run)


def row(claim, measured, limit):
    measured, limit = (claim.scale * each for each in (measured, limit))
    figures = {key: float(f"{value:.4g}") for key, value in
               (("measured", measured), ("limit", limit), ("ratio", measured / limit))}  # fmt: skip
    holds = claim.reached(measured, measured / limit)
    return {"name": claim.name, "unit": claim.unit, **figures, "goal": claim.goal, "holds": holds, "note": claim.note}


def main():
    runner = pyperf.Runner(
        processes=4, values=4, warmups=1, min_time=0.05, add_cmdline_args=lambda command, _: command.extend(
            ["--json", "worker"]))  # fmt: skip
    runner.argparser.add_argument("--json", required=True, help="Where the summary is, or is to be")
    runner.parse_args(["--inherit-environ=PYTHONPATH", "--quiet", *sys.argv[1:]])
    rows = []
    for claim in claims():
        measured = measure(runner, claim.name, claim.measured)
        if claim.in_turns:
            limit = measure_ratio(runner, f"{claim.name}, ratio", claim.measured, claim.limit)
        else:
            limit = measure(runner, f"{claim.name}, limit", claim.limit)
        if measured and limit and not runner.args.worker:
            by = limit.median()
            rows.append(row(claim, measured.median(), measured.median() / by if claim.in_turns else by))
    if runner.args.worker:
        return
    show(rows)
    add_to(runner.args.json, rows, lambda name: name.startswith("python.") and not name.startswith("python.null."))


if __name__ == "__main__":
    main()
