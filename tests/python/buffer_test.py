"""One buffer, as people who know NumPy expect it; and what it says to those who ask for what it cannot do."""

import ml_dtypes
import numpy as np
import pytest
import unibuf
from conftest import as_numpy
from unibuf import (
    AccessConflictError,
    BufferNotAllocatedError,
    BufferState,
    DeviceUnavailableError,
    InvalidArgumentError,
    LeaseTimeoutError,
    OutOfMemoryError,
    OutOfRangeError,
    UnibufError,
    UnifiedBuffer,
    UnsupportedError,
)

DTYPES = [
    np.bool_,
    np.int8,
    np.uint64,
    np.float16,
    np.float32,
    np.complex128,
    ml_dtypes.bfloat16,
    ml_dtypes.float8_e4m3fn,
    ">f8",
    ">u2",
    "M8[ns]",
    "m8[s]",
    "S5",
    "U3",
    "V7",
    np.dtype([("a", "i1"), ("b", ">f8", (2,))]),
]


def ones(shape=(4, 5), dtype=np.float32, **options):
    return UnifiedBuffer(shape, dtype, **options).fill(1)


# Shapes


@pytest.mark.parametrize("shape, then", [
    (3, (3,)), (np.int32(3), (3,)), (np.array(3), (3,)), ((2, 3), (2, 3)), ([2, np.int64(3)], (2, 3)),
    (np.array([2, 3]), (2, 3)), (np.array([3]), (3,)), ((), ()), (0, (0,)), ((0, 5), (0, 5)), ((2, 0, 3), (2, 0, 3)),
    (range(1, 4), (1, 2, 3)), ((1,) * 64, (1,) * 64), (True, (1,)),
])  # fmt: skip
def test_shape(device, shape, then):
    buffer = UnifiedBuffer(shape)
    assert buffer.shape == then == buffer.host.shape == tuple(buffer.device.shape) == buffer.to_numpy().shape
    assert all(type(extent) is int for extent in buffer.shape)
    assert (buffer.ndim, buffer.size) == (len(then), np.prod(then, dtype=int))
    assert buffer.nbytes == 4 * buffer.size
    assert (buffer.fill(2).to_numpy() == 2).all() and not buffer.zeros().host.any()


class Once:
    """An extent that has one answer."""

    def __init__(self, answer):
        self.answers = [answer]

    def __index__(self):
        return self.answers.pop()


def test_extents_are_asked_once():
    assert UnifiedBuffer((Once(2), 3)).shape == (2, 3)


@pytest.mark.parametrize("shape", [2**62, 2**63, 2**100, (2**40, 2**40), (0, 2**70), (0, 2**62), (0, 2**40, 2**40)])
def test_more_than_can_be_addressed(shape):
    with pytest.raises(MemoryError, match="than can be addressed"):
        UnifiedBuffer(shape)
    with pytest.raises(OutOfMemoryError, match=r"shape \("):
        unibuf.MemoryPool().acquire(shape)


def test_more_than_there_is():
    buffer = UnifiedBuffer(2**45)
    with pytest.raises(MemoryError, match="140737488355328 bytes"):
        _ = buffer.host
    assert buffer.state is BufferState.UNINITIALIZED


@pytest.mark.parametrize("shape", [-1, (3, -1), (0, -5), np.array([-2])])
def test_negative_extents(shape):
    with pytest.raises(ValueError, match=r"no negative extents; \(.*-.*\) was asked for"):
        UnifiedBuffer(shape)


@pytest.mark.parametrize("shape", [3.0, (3.0, 2), "12", None, ((1, 2), 3), object(), {"a": 1}, np.array([1.5])])
def test_no_shape(shape):
    with pytest.raises(TypeError):
        UnifiedBuffer(shape)


def test_too_many_axes():
    with pytest.raises(ValueError, match="up to 64 axes"):
        UnifiedBuffer((1,) * 65)


# Element types


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype(device, dtype):
    buffer = UnifiedBuffer(7, dtype)
    wanted = np.frombuffer(np.random.default_rng(1).bytes(buffer.nbytes), np.uint8).copy() % 2
    assert buffer.dtype == np.dtype(dtype) == buffer.host.dtype
    assert not buffer.host.view(np.uint8).any()
    buffer.host.view(np.uint8)[:] = wanted
    assert np.array_equal(buffer.to_numpy().view(np.uint8), wanted)
    if hasattr(buffer.device, "get") or isinstance(buffer.device, np.ndarray):
        assert as_numpy(buffer.device).tobytes() == wanted.tobytes()
    copy = UnifiedBuffer(7, dtype).copy_from(buffer)
    out = np.empty(7, dtype)
    copy.copy_to(out)
    assert np.array_equal(out.view(np.uint8), wanted)
    one = buffer.fill(copy.host[3]).to_numpy()
    assert one.tobytes() == 7 * copy.host[3:4].tobytes()


@pytest.mark.parametrize("dtype, why", [
    (object, "Python objects"), (np.dtype([("a", object)]), "Python objects"), ("S", "no bytes"), ("U", "no bytes"),
    ("V", "no bytes"), (np.str_, "no bytes"), ("(2,)f4", "belong to the shape"), ("nonsense", "not understood"),
    (7, "data type"), (None, "other than None, which is float64 there"),
])  # fmt: skip
def test_no_dtype(dtype, why):
    with pytest.raises(TypeError, match=why):
        UnifiedBuffer(3, dtype)
    with pytest.raises(TypeError, match=why):
        unibuf.MemoryPool().acquire(3, dtype)


# Whole arrays


@pytest.mark.parametrize("data", [
    np.arange(20.0).reshape(4, 5), np.arange(20, dtype=">i2").reshape(4, 5), np.arange(20, dtype="f4").reshape(5, 4).T,
    np.arange(40, dtype="f4").reshape(4, 10)[:, ::2], [[1] * 5] * 4, np.broadcast_to(np.float32(3), (4, 5)),
    np.arange(20, dtype="f4").reshape(4, 5)[::-1], np.frombuffer(bytes(range(80)), "f4").reshape(4, 5),
    np.frombuffer(bytes(range(81)), "u1")[1:].view("f4").reshape(4, 5), np.eye(4, 5, dtype=ml_dtypes.bfloat16),
])  # fmt: skip
def test_copy_from(device, data):
    buffer = ones()
    _ = buffer.device
    assert buffer.copy_from(data) is buffer
    assert np.array_equal(as_numpy(buffer.device), np.asarray(data).astype(np.float32))


def test_copy_from_a_buffer(device):
    source = ones(dtype=np.float64)
    source.device.fill(7)
    source.mark_device_dirty()
    assert (ones().copy_from(source).host == 7).all()
    same = ones().copy_from(np.arange(20).reshape(4, 5))
    assert np.array_equal(same.copy_from(same).host, np.arange(20).reshape(4, 5))
    assert np.array_equal(same.copy_from(same.host[::-1]).host, np.arange(20).reshape(4, 5)[::-1])


def test_refused_copies_change_nothing(device):
    buffer = ones()
    for data in (np.zeros((5, 4)), np.zeros(20), 3, "abc"):
        with pytest.raises(ValueError, match=r"shape \(.*\) was to be copied into a buffer of \(4, 5\)"):
            buffer.copy_from(data)
    with pytest.raises(TypeError, match="complex128 cannot be cast to float32"):
        buffer.copy_from(np.zeros((4, 5), complex))
    with pytest.raises(ValueError, match=r"\(4, 5\) was to be copied into an array of shape \(5, 4\)"):
        buffer.copy_to(np.zeros((5, 4)))
    with pytest.raises(TypeError, match="list was given"):
        buffer.copy_to([1])
    with pytest.raises(TypeError, match="same_kind"):
        buffer.copy_to(np.zeros((4, 5), int))
    with pytest.raises(ValueError, match="read-only"):
        buffer.copy_to(np.broadcast_to(np.float32(1), (4, 5)))
    assert (buffer.host == 1).all()


def test_copy_to(device):
    buffer = UnifiedBuffer((4, 5)).copy_from(np.arange(20).reshape(4, 5))
    for out in (
        np.empty((4, 5), "f4"),
        np.empty((4, 5)),
        np.empty((5, 4), "f4").T,
        np.empty((4, 5), ">f4"),
        buffer.host,
    ):
        buffer.copy_to(out)
        assert np.array_equal(out, np.arange(20).reshape(4, 5))
    own = buffer.to_numpy()
    own[:] = 0
    assert buffer.host[1, 0] == 5 and own.flags.owndata and own.flags.writeable


def test_fill(device):
    assert ones().zeros().fill(2.5).host[3, 4] == 2.5
    for value, error in (("x", ValueError), ([1, 2], ValueError), (1j, TypeError)):
        with pytest.raises(error):
            ones().fill(value)
    assert UnifiedBuffer(2, "M8[s]").fill("2020-01-01").host[1] == np.datetime64("2020-01-01")
    assert UnifiedBuffer(2, "i4,f4").fill((1, 2.5)).host[1].item() == (1, 2.5)
    there = UnifiedBuffer(1000).fill(2, at="debug:0")
    assert there.state == BufferState.DEVICE_DIRTY and there.host[999] == 2
    with pytest.raises(unibuf.DeviceUnavailableError):
        there.fill(3, at="cuda:77")
    with pytest.raises(unibuf.UnsupportedError):
        there.view[::2].fill(3, at="debug:0")
    assert there.host[0] == 2
    padded = np.dtype("i1,i8", align=True)
    assert UnifiedBuffer(2, padded).fill((1, 2)).host[1:].tobytes() == b"\1" + bytes(7) + b"\2" + bytes(7)


# As an array


def test_as_an_array():
    buffer = UnifiedBuffer((4, 5)).copy_from(np.arange(20).reshape(4, 5))
    assert len(buffer) == 4 and [row[0] for row in buffer] == [0, 5, 10, 15]
    buffer[1, 1:3] += 100
    buffer[-1] = 7
    assert buffer[1].tolist() == [5, 106, 107, 8, 9] and buffer[..., 0].tolist() == [0, 5, 10, 7]
    for array in np.asarray(buffer), np.asarray(buffer, dtype="f4", copy=False):
        assert np.shares_memory(array, buffer.host)
    own = np.array(buffer)
    own[:] = 0
    assert buffer[1, 1] == 106 and np.asarray(buffer, copy=True) is not buffer.host
    assert np.asarray(buffer, dtype=np.int64)[1, 1] == 106
    with pytest.raises(ValueError, match="copy"):
        np.array(buffer, dtype=float, copy=False)
    assert np.add(buffer, 1)[0, 0] == 1 and np.sum(buffer) == buffer.host.sum() and (buffer.host + buffer)[0, 1] == 2
    with pytest.raises(IndexError):
        buffer[4]
    for call in (len, iter):
        with pytest.raises(TypeError):
            call(UnifiedBuffer(()))


def test_repr():
    class Mine(UnifiedBuffer):
        pass

    assert repr(ones()).endswith("shape=(4, 5), dtype=float32, state=HOST_DIRTY)")
    assert repr(Mine(3)) == "Mine(shape=(3,), dtype=float32, state=UNINITIALIZED)"
    pool = unibuf.MemoryPool()
    buffer = pool.acquire(3)
    pool.release(buffer)
    assert "(3,)" in repr(buffer) and "released to its pool" in repr(buffer)


@pytest.mark.parametrize(
    "name", ["shape", "dtype", "host", "device", "state", "nbytes", "size", "ndim", "to_numpy", "view"]
)
@pytest.mark.filterwarnings("ignore:nanobind")
def test_before_its_init_it_refuses(name):
    made = UnifiedBuffer.__new__(UnifiedBuffer)
    assert "__init__" in repr(made)
    with pytest.raises((ValueError, TypeError)):
        found = getattr(made, name)
        found(0) if name == "view" else found()


@pytest.mark.filterwarnings("ignore:nanobind")
def test_of_another_type_or_twice_it_refuses():
    with pytest.raises(TypeError):
        UnifiedBuffer.view(object(), 0)
    buffer = ones()
    with pytest.raises(TypeError):
        buffer.__init__(7)
    assert buffer.shape == (4, 5) and (buffer.host == 1).all()


# Views


def test_view(device):
    buffer = UnifiedBuffer((4, 5)).copy_from(np.arange(20).reshape(4, 5))
    assert type(buffer.view(1)) is UnifiedBuffer and buffer.view(1).id == buffer.id
    assert [buffer.view(*part).shape for part in ((0,), (1,), (1, 2), (4,), (4, 0), (2, np.int64(1)))] == [
        (4, 5), (3, 5), (2, 5), (0, 5), (0, 5), (1, 5),
    ]  # fmt: skip
    part = buffer.view(1, 2).view(1)
    part.host[:] = 0
    assert buffer.to_numpy()[2].tolist() == [0] * 5 and buffer.to_numpy()[1, 4] == 9
    part.device.fill(3)
    part.mark_device_dirty()
    assert buffer.host[2].tolist() == [3] * 5 and buffer.host[3, 4] == 19


@pytest.mark.parametrize("part", [(5,), (2, 3), (-1,), (0, -1), (2**62, 2**62), (0, 2**70), (4, 1)])
def test_no_view(part):
    with pytest.raises(IndexError):
        ones().view(*part)


@pytest.mark.parametrize("part", [("1",), (1.0,), (0, 2.5), (0, "2"), (None,), (0, np.float32(2)), ()])
def test_no_numbers(part):
    with pytest.raises(TypeError):
        ones().view(*part)
    with pytest.raises(TypeError):
        ones().read("host", offset=part[0] if part else [], count=part[1] if len(part) > 1 else {})


def test_no_view_without_axes():
    with pytest.raises(ValueError, match="without axes"):
        UnifiedBuffer(()).view(0)


# Options


@pytest.mark.parametrize("options, error, why", [
    ({"access": "x"}, ValueError, "access is one of 'read_write', 'read_only', 'write_only', 'constant'; 'x' was"),
    ({"hint": "x"}, ValueError, "hint is one of 'cpu_preferred', 'gpu_preferred', 'coherent', 'streaming'; 'x' was"),
    ({"tracking": "x"}, ValueError, "tracking is one of 'auto', 'off'; 'x' was asked for"),
    ({"device": "x"}, ValueError, "\"x\" is no name of a space: 'host', or a kind and a number as in 'opencl:0'"),
    ({"device": "cuda:99"}, DeviceUnavailableError, "'cuda:99' is not available: "),
    ({"device": "cuda:99"}, RuntimeError, "cuda:99"),
    ({"device": 3}, TypeError, "named by a str, as 'cuda:0'; 3 was given"),
    ({"hint": 5}, TypeError, "a str, or None for none; 5 was given"),
    ({"pinned": "yes"}, TypeError, "^pinned is True or False; 'yes' was given$"),
    ({"pinned": None}, TypeError, "^pinned is True or False; None was given$"),
    ({"uninitialized": 2}, TypeError, "^uninitialized is True or False; 2 was given$"),
    ({"access": 1}, TypeError, "^access is one of 'read_write', 'read_only', 'write_only', 'constant'; 1 was given$"),
    ({"tracking": None}, TypeError, "^tracking is one of 'auto', 'off'; None was given$"),
    ({"nonsense": 1}, TypeError, "nonsense"),
])  # fmt: skip
def test_no_such_option(options, error, why):
    for make in (UnifiedBuffer, unibuf.MemoryPool().acquire):
        with pytest.raises(error, match=why):
            make(3, **options)


@pytest.mark.skipif("cuda" in str(unibuf.devices()[-1].name) and unibuf.devices()[-1].available, reason="CUDA is here")
def test_pinned_where_nobody_can():
    buffer = ones(pinned=True)
    assert not buffer.pinned and (buffer.host == 1).all()
    found = buffer.placement("host")
    assert found.placement == "mirrored" and not found.pinned and "not pinned" in found.reason
    assert isinstance(found, unibuf.Placement) and found == tuple(found)


@pytest.mark.parametrize("tracking, found", [("auto", True), ("off", False)])
def test_placement_says_whether_writes_are_found(tracking, found):
    buffer = ones(tracking=tracking)  # so small that its bytes are compared, which needs nothing of the kernel
    assert not buffer.placement("host").writes_found, "nothing is looked for before the first array"
    array = buffer.host
    assert array is not None and buffer.placement("host").writes_found is found


def test_what_the_host_only_reads(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(1000, access="read_only")
    buffer.device[:] = 4
    buffer.mark_device_dirty()
    assert (buffer.host == 4).all() and not buffer.host.flags.writeable and buffer[5] == 4
    for write in (lambda: buffer.host.fill(1), lambda: buffer.__setitem__(0, 1)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    for write in (lambda: buffer.copy_from(np.ones(1000)), buffer.write("host").__enter__):
        with pytest.raises(ValueError, match="created read_only: the host may not write it"):
            write()
    assert (buffer.to_numpy() == 4).all()


def test_what_the_host_only_writes(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer(1000, access="write_only")
    buffer.host[:] = 4
    assert (buffer.device == 4).all()
    for read in (buffer.to_numpy, buffer.read("host").__enter__):
        with pytest.raises(ValueError, match="created write_only: the host may not read it"):
            read()


def test_metal():
    buffer = UnifiedBuffer(3)
    for error in (UnsupportedError, NotImplementedError, UnibufError):
        with pytest.raises(error, match="metal is not available here"):
            _ = buffer.metal
    with pytest.raises(BufferNotAllocatedError, match="metal"):
        buffer.mark_metal_dirty()
    with pytest.raises(UnsupportedError, match="macOS"):
        buffer.allocate().mark_metal_dirty()


def test_errors_are_built_in_ones_too():
    for error, built_in in (
        (BufferNotAllocatedError, ValueError), (OutOfMemoryError, MemoryError), (DeviceUnavailableError, RuntimeError),
        (InvalidArgumentError, ValueError), (OutOfRangeError, IndexError), (AccessConflictError, BufferError),
        (LeaseTimeoutError, TimeoutError), (UnsupportedError, NotImplementedError),
        (unibuf.TransferFailedError, OSError),
    ):  # fmt: skip
        assert issubclass(error, built_in) and issubclass(error, UnibufError)


def test_each_caller_has_an_array_of_his_own(device):
    buffer = UnifiedBuffer((6,))
    for side in ["host", *(["device"] if device in ("host", "debug:0") else [])]:
        first, second = getattr(buffer, side), getattr(buffer, side)
        assert first is not second and np.shares_memory(first, second)
        first.flags.writeable = False
        second.shape = (2, 3)
        third = getattr(buffer, side)
        assert third.shape == (6,) and third.flags.writeable
        third.dtype = np.int32
        del first, second, third
        assert [getattr(buffer, side).dtype for _ in range(3)] == [np.float32] * 3
        getattr(buffer, side)[0] = 1
