"""Other libraries take the host's copy, or that of the device that they name, and never a stale one."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import unibuf
from conftest import usable
from unibuf import BufferState, UnifiedBuffer

N = 6000  # more than a page
CONTENT = np.arange(N, dtype=np.float32)


@pytest.fixture
def buffer():
    result = UnifiedBuffer((N,))
    result.host[:] = CONTENT
    return result


@pytest.fixture
def newest_at_device(default_device):
    """Its host copy is stale."""
    default_device("debug:0")
    result = UnifiedBuffer((N,))
    result.host[:] = 0
    array = result.device
    array[:] = CONTENT
    result.mark_device_dirty()
    return result


def name_of(capsule):
    get = ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return get(capsule)


# NumPy


def test_asarray_shares_the_memory(buffer):
    for array in (np.asarray(buffer), np.array(buffer, copy=False), np.asarray(buffer.host)):
        assert np.shares_memory(array, buffer.host)
        assert array.dtype == np.float32
    array[3] = 77
    assert buffer.host[3] == 77


@pytest.mark.parametrize("arguments", [{}, {"copy": True}, {"dtype": "f8"}, {"dtype": "f4", "copy": True}], ids=str)
def test_array_copies(buffer, arguments):
    array = np.array(buffer, **arguments)
    assert not np.shares_memory(array, buffer.host)
    assert array.dtype == arguments.get("dtype", "f4")
    assert np.array_equal(array, CONTENT)


def test_no_copy_is_made_where_none_is_allowed(buffer):
    with pytest.raises(ValueError, match="copy=False"):
        np.array(buffer, dtype=np.int64, copy=False)


def test_functions_of_numpy_take_a_buffer(buffer):
    assert np.array_equal(np.add(buffer, 1), CONTENT + 1)
    assert np.array_equal(np.add(buffer, buffer), 2 * CONTENT)
    assert np.sum(buffer) == CONTENT.sum()
    assert np.concatenate([buffer, buffer]).shape == (2 * N,)
    result = np.empty(N, np.float32)
    result[:] = buffer
    assert np.array_equal(result, CONTENT)


def test_a_result_goes_into_the_host_array(buffer):
    _ = buffer.device
    np.multiply(buffer, 2, out=buffer.host)
    assert buffer.state is BufferState.HOST_DIRTY
    assert np.array_equal(buffer, 2 * CONTENT)


def test_buffer_protocol_of_the_host_array(buffer):
    view = memoryview(buffer.host)
    assert (view.format, view.shape, view.readonly) == ("f", (N,), False)
    view[5] = 99
    assert buffer.host[5] == 99
    assert bytes(view) == buffer.to_numpy().tobytes()


@pytest.mark.parametrize(
    "read",
    [np.asarray, np.from_dlpack, lambda b: np.add(b, 0), lambda b: np.frombuffer(b.host, "f4"), lambda b: b[:]],
    ids=["asarray", "from_dlpack", "add", "frombuffer", "item"],
)
def test_what_a_device_wrote_is_fetched(newest_at_device, read):
    assert np.array_equal(read(newest_at_device), CONTENT)


def test_what_only_the_host_writes_is_for_writing_still():
    buffer = UnifiedBuffer((N,), access="write_only")
    np.asarray(buffer)[:] = CONTENT
    assert np.array_equal(buffer.device, CONTENT)


def test_what_the_host_only_reads_is_for_reading(device, numpy_of):
    buffer = UnifiedBuffer((N,), access="read_only")
    array = buffer.device
    array += 2
    buffer.mark_device_dirty()
    assert not np.asarray(buffer).flags.writeable
    assert np.array_equal(buffer.host, np.full(N, 2))
    with pytest.raises(ValueError, match="read-only"):
        buffer.host[0] = 1
    array = buffer.device
    array += 1
    buffer.mark_device_dirty()
    assert np.array_equal(buffer.host, np.full(N, 3))


# DLPack


@pytest.mark.parametrize("of", [lambda b: b, lambda b: b.host], ids=["buffer", "host"])
@pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_capsules_of_the_version_that_is_asked_for(buffer, of, max_version):
    capsule = of(buffer).__dlpack__(max_version=max_version)
    versioned = max_version is not None and max_version[0] >= 1
    assert name_of(capsule) == (b"dltensor_versioned" if versioned else b"dltensor")
    assert of(buffer).__dlpack_device__() == (1, 0)


def test_from_dlpack_shares_the_memory(buffer):
    for given in (buffer, buffer.host):
        for arguments in ({}, {"device": "cpu"}, {"copy": False}):
            assert np.shares_memory(np.from_dlpack(given, **arguments), buffer.host)
        assert not np.shares_memory(np.from_dlpack(given, copy=True), buffer.host)


def test_a_capsule_keeps_the_memory(buffer):
    array = np.from_dlpack(buffer)
    del buffer
    assert np.array_equal(array, CONTENT)


def test_what_comes_by_dlpack_is_found_when_it_is_written(newest_at_device):
    array = np.from_dlpack(newest_at_device)
    assert newest_at_device.state is BufferState.SYNCHRONIZED
    array[0] = 5
    assert newest_at_device.state is BufferState.HOST_DIRTY
    assert newest_at_device.device[0] == 5


def test_what_the_host_only_reads_says_so():
    buffer = UnifiedBuffer((N,), access="read_only")
    assert not np.from_dlpack(buffer).flags.writeable
    with pytest.raises(BufferError, match="readonly"):
        buffer.__dlpack__()  # unversioned capsules cannot say it


@pytest.mark.parametrize("asked", [
    {"dl_device": (4, 99)}, {"dl_device": (8, 0)}, {"dl_device": (10, 1)}, {"dl_device": (1, 1)}, {"stream": 1},
    {"dl_device": (2, 99)}, {"dl_device": (2, -1)}, {"dl_device": (2, 99), "copy": True},
], ids=str)  # fmt: skip
def test_exports_that_nobody_makes(newest_at_device, asked):
    """The protocol has one error for what cannot be exported. Nothing is moved for it."""
    with pytest.raises(BufferError) as refusal:
        newest_at_device.__dlpack__(**asked)
    assert isinstance(refusal.value, unibuf.UnibufError) and str(refusal.value)
    assert newest_at_device.state is BufferState.DEVICE_DIRTY


def test_the_host_is_the_device_that_is_exported(buffer):
    shared = np.from_dlpack(buffer, device="cpu") if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else buffer.host
    assert np.shares_memory(shared, buffer.host)
    assert name_of(buffer.__dlpack__(dl_device=(1, 0))) == b"dltensor"


@pytest.mark.parametrize("dtype", ["datetime64[s]", ">f4", "S3", [("a", "f4")]], ids=str)
def test_types_that_dlpack_lacks(dtype):
    with pytest.raises(BufferError):
        UnifiedBuffer((4,), dtype).__dlpack__()


def test_missing_cuda_is_named(buffer):
    try:
        unibuf.get_accelerator("cuda:0")
    except unibuf.DeviceUnavailableError:
        with pytest.raises(unibuf.DeviceUnavailableError, match="CUDA driver"):
            buffer.cuda()
        for error in (BufferError, unibuf.DeviceUnavailableError):
            with pytest.raises(error, match="CUDA driver"):
                buffer.__dlpack__(dl_device=(2, 0))
    else:
        pytest.skip("there is a CUDA device")


def test_a_buffer_exposes_no_device(buffer):
    for name in ("__cuda_array_interface__", "__array_interface__", "__array_struct__"):
        assert not hasattr(buffer, name)
    assert hasattr(buffer.host, "__array_interface__")
    assert not hasattr(buffer.host, "__cuda_array_interface__")


def test_looking_for_protocols_moves_nothing(newest_at_device):
    for _ in range(3):
        for name in ("__cuda_array_interface__", "__array__", "__dlpack__", "__dlpack_device__", "__array_interface__"):
            hasattr(newest_at_device, name)
    newest_at_device.__dlpack_device__()
    assert newest_at_device.state is BufferState.DEVICE_DIRTY


# MLX


@pytest.fixture
def mlx():
    return pytest.importorskip("mlx.core", reason="MLX is not installed")


@pytest.mark.parametrize("take", ["array", "asarray", "from_dlpack"])
def test_mlx_reads_what_is_newest(mlx, newest_at_device, take):
    assert np.array_equal(getattr(mlx, take)(newest_at_device), CONTENT)
    assert np.array_equal(getattr(mlx, take)(newest_at_device.host), CONTENT)


@pytest.mark.parametrize("of", [lambda b: b, lambda b: b.host], ids=["buffer", "host"])
def test_mlx_shares_the_memory_where_it_says_so(mlx, buffer, of):
    try:
        array = mlx.from_dlpack(of(buffer), copy=False)
        shares = True
    except ValueError:  # this build of MLX imports no host memory in place
        array = mlx.from_dlpack(of(buffer))
        mlx.eval(array)
        shares = False
    buffer.host[0] = 99
    assert (float(array[0]) == 99) is shares


def test_what_mlx_computes_comes_back(mlx, buffer):
    buffer.copy_from(mlx.array(buffer.host) * 2)
    assert np.array_equal(buffer.host, 2 * CONTENT)


# mpi4py


@pytest.fixture
def mpi():
    return pytest.importorskip("mpi4py.MPI", reason="mpi4py is not installed")


@pytest.mark.parametrize("of", [lambda b: b, lambda b: b.host], ids=["buffer", "host"])
def test_mpi_sends_the_host_copy(mpi, newest_at_device, of):
    received = UnifiedBuffer((N,))
    mpi.COMM_SELF.Sendrecv(of(newest_at_device), dest=0, recvbuf=of(received), source=0)
    assert received.state is BufferState.HOST_DIRTY
    assert np.array_equal(received.host, CONTENT)
    assert np.array_equal(received.device, CONTENT)


@pytest.mark.parametrize("of", [lambda b: b, lambda b: b.host], ids=["buffer", "host"])
def test_mpi_broadcast_and_reduce(mpi, newest_at_device, of):
    mpi.COMM_WORLD.Bcast(of(newest_at_device), root=0)
    total = UnifiedBuffer((N,))
    mpi.COMM_SELF.Allreduce(of(newest_at_device), of(total), op=mpi.SUM)
    assert np.array_equal(total.host, CONTENT)


# PyOpenCL


@pytest.fixture
def opencl(default_device):
    pytest.importorskip("pyopencl", reason="pyopencl is not installed")
    default_device("opencl:0")
    return pytest.importorskip("pyopencl.array")


@pytest.mark.parametrize("hint", [None, "gpu_preferred", "coherent"])
def test_opencl_arrays_are_over_the_same_memory(opencl, hint):
    buffer = UnifiedBuffer((N,), hint=hint)
    buffer.host[:] = CONTENT
    array = buffer.device
    assert isinstance(array, opencl.Array)
    assert (array.shape, array.dtype) == ((N,), np.float32)
    assert array.base_data.int_ptr == buffer._hold("opencl:0").handle
    assert array is buffer.device
    array *= 2
    array += 1
    buffer.mark_device_dirty()
    assert buffer.state is BufferState.DEVICE_DIRTY
    assert np.array_equal(buffer.host, 2 * CONTENT + 1)


def test_each_thread_has_an_opencl_array_of_its_own(opencl):
    buffer = UnifiedBuffer((N,))
    mine = buffer.device
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        others = [thread.submit(lambda: buffer.device).result() for thread in (first, first, second)]
    assert others[0] is others[1]
    arrays = [mine, others[0], others[2]]
    assert len({id(each.events) for each in arrays}) == 3
    assert len({each.base_data.int_ptr for each in arrays}) == 1
    kept = buffer.device
    del mine, others, arrays
    assert buffer.device is kept


def test_opencl_array_of_a_view_begins_at_its_offset(opencl, buffer):
    _ = buffer.device
    view = buffer.view(1024, 2048)
    array = view.device
    assert np.array_equal(array.get(), CONTENT[1024:3072])
    array += 1
    view.mark_device_dirty()
    assert np.array_equal(buffer.host[1024:3072], CONTENT[1024:3072] + 1)
    assert buffer.host[1023] == CONTENT[1023]


def test_opencl_arrays_of_a_block_work_on_its_queue(opencl, buffer):
    import pyopencl

    own = buffer.device.queue
    other = pyopencl.CommandQueue(own.context, own.device)
    for queue, named in ((other, other), (other, other.int_ptr), (own, own), (own, None)):
        with buffer.read_write(stream=named) as array:
            assert array.queue.int_ptr == queue.int_ptr
            array += 1
            del array
    with buffer.read(stream=other) as array:
        assert array.get()[5] == CONTENT[5] + 4
        del array
    assert np.array_equal(buffer.host, CONTENT + 4)


def test_opencl_write_blocks_fetch_nothing(opencl):
    buffer = UnifiedBuffer((N,), hint="gpu_preferred")
    buffer.host[:] = CONTENT
    queue = UnifiedBuffer((1,)).device.queue
    with buffer.write("opencl:0", stream=queue) as array:
        array.fill(np.float32(4))
        del array
    assert buffer.statistics.bytes_moved == 0
    assert (buffer.host == 4).all()
    assert buffer.statistics.bytes_moved == buffer.nbytes


TWICE = "kernel void twice(global float *of, int begin) { of[begin + get_global_id(0)] *= 2; }"


@pytest.fixture
def twice(opencl):
    """A queue of the program's own, and a call that enqueues a kernel there on a memory object."""
    import pyopencl

    own = UnifiedBuffer((1,)).device.queue
    queue = pyopencl.CommandQueue(own.context, own.device)
    kernel = pyopencl.Kernel(pyopencl.Program(own.context, TWICE).build(), "twice")
    return queue, lambda memory, begin, count: kernel(queue, (count,), None, memory, np.int32(begin))


@pytest.mark.parametrize("hint", [None, "gpu_preferred", "coherent"])
def test_a_kernel_runs_on_the_memory_object_of_a_block(twice, hint):
    queue, run = twice
    buffer = UnifiedBuffer((N,), hint=hint).copy_from(CONTENT)
    with buffer.read_write("opencl:0", queue) as array:
        run(array.base_data, array.offset // 4, N)
        del array
    assert np.array_equal(buffer.host, 2 * CONTENT)
    with buffer.view(1024, 512).read_write("opencl:0", queue, offset=8, count=256) as array:
        run(array.base_data, array.offset // 4, 256)
        del array
    assert np.array_equal(buffer.host[1032:1288], 4 * CONTENT[1032:1288])
    assert np.array_equal(buffer.host[1288:], 2 * CONTENT[1288:])


def test_a_block_gives_the_memory_object_alone(twice):
    import pyopencl

    queue, run = twice
    buffer = UnifiedBuffer((N,)).copy_from(CONTENT)
    with buffer.read_write("opencl:0", queue).memory_object() as memory:
        assert isinstance(memory, pyopencl.MemoryObject)
        run(memory, 0, N)
    with buffer.write("opencl:0", queue, offset=1024, count=2048).memory_object() as memory:
        assert memory.size == 4 * 2048
        pyopencl.enqueue_fill_buffer(queue, memory, np.float32(7), 0, memory.size)
    assert np.array_equal(buffer.host[:1024], 2 * CONTENT[:1024])
    assert (buffer.host[1024:3072] == 7).all()
    assert np.array_equal(buffer.host[3072:], 2 * CONTENT[3072:])


def test_a_memory_object_is_what_a_block_cannot_always_give(twice, buffer):
    with (
        pytest.raises(unibuf.UnsupportedError, match="at host: .* opencl:N"),
        buffer.read("host").memory_object(),
    ):
        pass
    with (
        pytest.raises(unibuf.UnsupportedError, match="begins at byte 4; .* a multiple of .* base_data"),
        buffer.read("opencl:0", offset=1).memory_object(),
    ):
        pass
    buffer.host[:] = 1  # nothing is leased any more


def test_a_stream_that_is_none_is_refused(buffer):
    space = usable("opencl:0")
    for none in (object(), 640):  # such a number is an offset, which has to be named
        with pytest.raises(unibuf.InvalidArgumentError, match="is no stream"):
            buffer.read(space, none)
        with pytest.raises(unibuf.InvalidArgumentError, match="is no stream"):
            buffer.read(space, stream=none)
