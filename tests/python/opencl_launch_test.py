"""Kernels of PyOpenCL that are run on buffers in one call."""

import gc
import threading
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
import unibuf
from unibuf import AccessConflictError, InvalidArgumentError, LeaseTimeoutError, UnifiedBuffer

cl = pytest.importorskip("pyopencl")
if not any(each.name == "opencl:0" and each.available for each in unibuf.devices()):
    pytest.skip("opencl:0 is not available", allow_module_level=True)

from unibuf.opencl import enqueue, read, read_write, use, write  # noqa: E402

SOURCE = """
kernel void saxpy(global const float* x, global float* y, float a) {
    size_t i = get_global_id(0);
    y[i] += a * x[i];
}
kernel void add(global const int* x, global int* y, int a) { y[get_global_id(0)] = x[get_global_id(0)] + a; }
kernel void sums(global const float* x, global float* y, local float* of_group, float4 scale) {
    of_group[get_local_id(0)] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) != 0) return;
    float sum = 0;
    for (size_t i = 0; i < get_local_size(0); ++i) sum += of_group[i];
    y[get_group_id(0)] = sum * scale.y;
}
kernel void where(global uint* out) {
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)] = get_global_id(1);
}
kernel void is_null(global const float* x, global int* out) { out[0] = x == 0; }
"""


@pytest.fixture(scope="module")
def kernels():
    program = cl.Program(unibuf.get_accelerator("opencl:0").queue.context, SOURCE).build("-cl-kernel-arg-info")
    return SimpleNamespace(**{each.function_name: each for each in program.all_kernels()})


def filled(n, value, dtype=np.float32):
    return UnifiedBuffer(n, dtype).fill(value)


def test_a_launch_takes_leases_sets_arguments_and_ends_the_leases(kernels):
    x, y = filled(1000, 2), filled(1000, 1)
    for number in (np.float32(3), 3.0, 3):
        enqueue(kernels.saxpy, 1000, read(x), read_write(y), number)
    assert (y.host == 19).all() and (x.host == 2).all()
    x.host[5] = 7  # is found
    enqueue(kernels.saxpy, (1000,), read(x), read_write(y), 1, group=(100,), space="opencl:0")
    assert y.host[5] == 26 and y.host[6] == 21


def test_it_is_asynchronous_and_later_accesses_wait(kernels):
    x, y = filled(1 << 20, 1, np.int32), UnifiedBuffer(1 << 20, np.int32)
    for number in range(20):
        enqueue(kernels.add, 1 << 20, read(x), write(y), number)
        enqueue(kernels.add, 1 << 20, read(y), write(x), 1)
    assert x.to_numpy()[77] == 1 + sum(range(20)) + 20


def test_other_arguments_are_those_of_pyopencl(kernels):
    x, y = filled(64, 1), UnifiedBuffer(4, np.float32)
    scale = cl.cltypes.make_float4(1, 2, 3, 4)
    enqueue(kernels.sums, 64, read(x), write(y), cl.LocalMemory(64), scale, group=16)
    assert y.host.tolist() == [32] * 4
    queue = unibuf.get_accelerator("opencl:0").queue
    memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE, 4000)
    theirs = cl.array.zeros(queue, 1000, np.float32)
    out = filled(1, 5, np.int32)
    for given, is_null in ((None, 1), (memory, 0), (theirs, 0)):
        enqueue(kernels.is_null, 1, given, read_write(out))
        assert out.host[0] == is_null


def test_items_have_up_to_three_dimensions(kernels):
    out = UnifiedBuffer((5, 6), np.uint32)
    enqueue(kernels.where, (6, 5), write(out))
    assert (out.host == np.arange(5)[:, None]).all()


def test_a_part_is_what_the_kernel_touches(kernels):
    x, y = filled(1024, 1), filled(1024, 0)
    y.sync_to_device()
    moved = x.statistics.bytes_moved
    enqueue(kernels.saxpy, 256, read(x.view(256, 256)), read_write(y.view(256, 256)), 2)
    enqueue(kernels.saxpy, 16, read(x, 0, 16), read_write(y, 0, 16), 4)
    expected = np.zeros(1024)
    expected[256:512], expected[:16] = 2, 4
    assert (y.host == expected).all() and x.statistics.bytes_moved - moved <= 272 * 4


def test_what_is_refused_has_changed_nothing(kernels):
    x, y = filled(100, 2), filled(100, 1)
    plain = cl.Program(unibuf.get_accelerator("opencl:0").queue.context, SOURCE).build().saxpy
    refusals = (
        (lambda: enqueue(kernels.saxpy, 100, read(x), read_write(y)), "takes 3 arguments; 2 were given"),
        (lambda: enqueue(kernels.saxpy, 100, read(x), y, 3.0), r"argument 1 .*is UnifiedBuffer.*read_write\(buffer\)"),
        (lambda: enqueue(kernels.saxpy, 100, read(x), read_write(y), np.ones(3)), "argument 2 .*ndarray"),
        (lambda: enqueue(kernels.saxpy, 100, read(x), read_write(y), np.float64(1)), "argument 2 .*8 bytes"),
        (lambda: enqueue(plain, 100, read(x), read_write(y), 3.0), "-cl-kernel-arg-info"),
        (lambda: enqueue(kernels.saxpy, (1, 1, 1, 1), read(x), read_write(y), 3.0), "1 to 3 dimensions"),
        (lambda: enqueue(kernels.saxpy, (), read(x), read_write(y), 3.0), "1 to 3 dimensions"),
        (lambda: enqueue(kernels.saxpy, 100, read(x), read_write(y), 3.0, group=(1, 1)), "numbers of dimensions"),
        (lambda: enqueue(kernels.saxpy, 100, read(x), read_write(y), 3.0, space="host"), "no OpenCL space"),
        (lambda: enqueue(kernels.saxpy, 99, read(x), read_write(y), 3.0, group=100), "was to be run"),
        (lambda: enqueue(kernels.saxpy, 10, read(x.view(1, 10)), read_write(y), 3.0), "begins at byte 4"),
    )
    for refused, why in refusals:
        with pytest.raises(InvalidArgumentError, match=why):
            refused()
    for items in (-1, 1.5, "10", (3, -1), None):
        with pytest.raises(TypeError, match="whole numbers"):
            enqueue(kernels.saxpy, items, read(x), read_write(y), 3.0)
    with pytest.raises(IndexError):
        enqueue(kernels.saxpy, 100, read(x, 50, 51), read_write(y), 3.0)
    with pytest.raises(TypeError):
        read(np.ones(3))
    with pytest.raises(AccessConflictError):
        enqueue(kernels.saxpy, 100, read(y), read_write(y), 3.0)
    with x.write("host"), pytest.raises(AccessConflictError):
        enqueue(kernels.saxpy, 100, read(x), read_write(y), 3.0)
    x.write("host").__enter__()[:] = 2
    gc.collect()
    assert (y.host == 1).all() and (x.host == 2).all()
    x.free()


def test_it_waits_for_other_threads_without_the_interpreters_lock(kernels):
    x, y = filled(100, 2), filled(100, 1)
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with x.write("host") as array:
            array[:] = 4
            entered.set()
            leave.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    entered.wait(20)
    unibuf.set_default_timeout(0.05)
    try:
        with pytest.raises(LeaseTimeoutError):
            enqueue(kernels.saxpy, 100, read(x), read_write(y), 3.0)
    finally:
        unibuf.set_default_timeout(None)
    threading.Timer(0.1, leave.set).start()
    enqueue(kernels.saxpy, 100, read(x), read_write(y), 3.0)
    holder.join()
    assert (y.host == 13).all()


def test_an_access_keeps_its_buffer_and_goes_with_it(kernels):
    x = filled(10, 1)
    access, gone = read(x), weakref.ref(x)
    del x
    assert gone() is not None
    y = filled(10, 0)
    enqueue(kernels.saxpy, 10, access, read_write(y), 1.0)
    del access
    gc.collect()
    assert gone() is None and (y.host == 1).all()


def test_a_context_of_the_programs_own_is_a_space():
    ours = unibuf.get_accelerator("opencl:0").queue
    assert use(ours) == use(ours.context) == "opencl:0"
    queue = cl.CommandQueue(cl.Context([ours.device]))
    space = use(queue)
    assert space.startswith("opencl:") and space != "opencl:0" and use(queue) == space
    kernel = cl.Program(queue.context, SOURCE).build("-cl-kernel-arg-info").saxpy
    x, y = filled(100, 2), filled(100, 1)
    enqueue(kernel, 100, read(x), read_write(y), 3.0)
    with y.read(space) as array:
        assert (array.get(queue) == 7).all()
    assert use(queue.context, ours.device) == space
