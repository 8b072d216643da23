"""Sizes that nothing has, in every parameter that is one, while buffers hold memory at every space: each is refused at
once, and no buffer is any other."""

import contextlib
import inspect

import numpy as np
import pytest
import unibuf
from unibuf import MemoryPool, UnifiedBuffer

# Sums and products of these wrap: 8 times 2**61 + 125 is 1000.
SIZES = [2**64, 2**64 - 1, 2**64 - 256, 2**63, 2**63 - 1, 2**62, 2**61 + 125, 2**61, 2**32]
NAMES = {"shape", "offset", "count", "nbytes", "each_thread"}
HAVE_MANY = 2**32  # so many bytes may be had, and are not touched


def opened(access):
    with access:
        pass


def made(make, size):
    """Makes a copy of what is too large for any memory."""
    one = make(size)
    if size > HAVE_MANY:
        opened(one.write("host"))
        opened(one.write(unibuf.default_device()))


# What is given a size, by the owner, the name of the function and the parameter: how it is called.
OFFSETS = {
    ("UnifiedBuffer", "read", "offset"): lambda b, n: opened(b.read(offset=n)),
    ("UnifiedBuffer", "read", "count"): lambda b, n: opened(b.read(offset=1, count=n)),
    ("UnifiedBuffer", "write", "offset"): lambda b, n: opened(b.write(offset=n)),
    ("UnifiedBuffer", "write", "count"): lambda b, n: opened(b.write(offset=1, count=n)),
    ("UnifiedBuffer", "read_write", "offset"): lambda b, n: opened(b.read_write(offset=n)),
    ("UnifiedBuffer", "read_write", "count"): lambda b, n: opened(b.read_write(offset=1, count=n)),
    ("UnifiedBuffer", "bound", "offset"): lambda b, n: opened(b.bound("debug:0", access="read", offset=n)),
    ("UnifiedBuffer", "bound", "count"): lambda b, n: opened(b.bound("debug:0", access="read", offset=1, count=n)),
    ("UnifiedBuffer", "view", "offset"): lambda b, n: b.view(n, 1),
    ("UnifiedBuffer", "view", "count"): lambda b, n: b.view(1, n),
    ("UnifiedBuffer", "mark_dirty", "offset"): lambda b, n: b.mark_dirty("host", n),
    ("UnifiedBuffer", "mark_dirty", "count"): lambda b, n: b.mark_dirty("host", 1, n),
    ("UnifiedBuffer", "prefetch", "offset"): lambda b, n: b.prefetch("host", n),
    ("UnifiedBuffer", "prefetch", "count"): lambda b, n: b.prefetch("host", 1, n),
} | {
    ("UnifiedBuffer", name, parameter): call
    for name in ("sync_to_host", "sync_to_device", "mark_host_dirty", "mark_device_dirty")
    for parameter, call in {
        "offset": lambda b, n, name=name: getattr(b, name)(n),
        "count": lambda b, n, name=name: getattr(b, name)(1, n),
    }.items()
}
SHAPES = {
    ("unibuf", "UnifiedBuffer", "shape"): lambda _, n: made(UnifiedBuffer, n),
    ("MemoryPool", "acquire", "shape"): lambda _, n: made(MemoryPool().acquire, n),
    ("MemoryPool", "scoped", "shape"): lambda _, n: made(lambda many: MemoryPool().scoped(many).__enter__(), n),
    ("MemoryPool", "reserve", "count"): lambda _, n: MemoryPool().reserve(n, 2**62),
    ("MemoryPool", "reserve", "nbytes"): lambda _, n: MemoryPool().reserve(3, n if n > HAVE_MANY else n * n),
    ("UnifiedBuffer", "reshape", "shape"): lambda b, n: b.reshape(n, 8),
    ("unibuf", "empty", "shape"): lambda _, n: made(unibuf.empty, n),
    ("unibuf", "zeros", "shape"): lambda _, n: made(unibuf.zeros, n),
    ("unibuf", "empty_like", "shape"): lambda b, n: made(lambda many: unibuf.empty_like(b, shape=many), n),
    ("unibuf", "zeros_like", "shape"): lambda b, n: made(lambda many: unibuf.zeros_like(b, shape=many), n),
    # These write all that they make.
    ("unibuf", "ones", "shape"): lambda _, n: unibuf.ones((n, 0)),
    ("unibuf", "full", "shape"): lambda _, n: unibuf.full((n, 0), 1),
    ("unibuf", "ones_like", "shape"): lambda b, n: unibuf.ones_like(b, shape=(n, 0)),
    ("unibuf", "full_like", "shape"): lambda b, n: unibuf.full_like(b, 1, shape=(n, 0)),
}
# These take any number that has up to 63 bits.
LIMITS = {
    ("MemoryPool", "trim", "nbytes"): lambda _, n: MemoryPool().trim(n),
    ("MemoryPool", "limit", "nbytes"): lambda _, n: MemoryPool().limit(n),
    ("unibuf", "limit_memory", "nbytes"): lambda _, n: unibuf.limit_memory("debug:0", n),
    ("unibuf", "keep_events", "each_thread"): lambda _, n: unibuf.keep_events(n),
    ("unibuf", "budget", "nbytes"): lambda _, n: opened(unibuf.budget(n)),
}
# These sizes are those of functions that need CuPy, which is not here.
ELSEWHERE = {("MemoryPool", "cupy_allocator", "nbytes")}


@pytest.fixture
def others():
    """Buffers with the newest content at each space, and a look at all of them."""
    spaces = [each.name for each in unibuf.devices() if each.available]
    held = []
    for number, space in enumerate(spaces):
        other = UnifiedBuffer(1000, np.uint8).fill(number + 1)
        if space != "host":
            other.prefetch(space)
            other.mark_dirty(space)
        held.append(other)

    def are_the_same():
        for number, other in enumerate(held):
            assert (other.to_numpy() == number + 1).all()

    yield are_the_same
    unibuf.limit_memory("debug:0", None)
    unibuf.keep_events(1024)


def rows():
    return UnifiedBuffer((10, 100), np.float64).fill(7)


REFUSALS = unibuf.OutOfRangeError, unibuf.OutOfMemoryError, unibuf.InvalidArgumentError, ValueError


def name_of(key):
    return ".".join(key) if isinstance(key, tuple) else None


@pytest.mark.parametrize("key", OFFSETS | SHAPES, ids=name_of)
@pytest.mark.parametrize("space", ["host", "debug:0"])
def test_a_size_that_nothing_has_is_refused(others, key, space):
    unibuf.set_default_device(space)
    buffer = rows()
    for size in SIZES:
        may_be_had = size == HAVE_MANY and (key[0] == "unibuf" or key[1] in ("acquire", "scoped"))
        with contextlib.nullcontext() if may_be_had else pytest.raises(REFUSALS):
            (OFFSETS | SHAPES)[key](buffer, size)
        assert (buffer.to_numpy() == 7).all()
        others()


@pytest.mark.parametrize("key", LIMITS, ids=name_of)
def test_a_limit_has_up_to_63_bits(others, key):
    for size in SIZES:
        refused = pytest.raises(unibuf.InvalidArgumentError, match="up to 63 bits")
        with refused if size >= 2**63 else contextlib.nullcontext():
            LIMITS[key](None, size)
        others()


@pytest.mark.parametrize("size", SIZES)
def test_slices_are_those_of_numpy(others, size):
    buffer, array = rows(), np.full((10, 100), 7.0)
    for along in (
        np.s_[size:],
        np.s_[:size],
        np.s_[-size:],
        np.s_[::size],
        np.s_[1:2:size, 3:size],
        np.s_[::size, ::size],
    ):
        expected = array[along]
        assert buffer[along].shape == expected.shape
        if expected.size != 0:
            assert (buffer.view[along].to_numpy() == expected).all()
            buffer.view[along].fill(7)
    assert (buffer.to_numpy() == 7).all()
    others()


@pytest.mark.parametrize("size", SIZES)
def test_numpy_in_a_pool_has_no_room(others, size):
    if size == HAVE_MANY:
        return
    for make in np.empty, np.zeros:
        with MemoryPool().numpy_allocator(), pytest.raises((ValueError, MemoryError)):
            make(size, np.uint16)
    others()


def parameters_of(owner):
    for name, value in inspect.getmembers(owner, callable):
        if name.startswith("_") or (inspect.isclass(value) and value is not UnifiedBuffer):
            continue
        for parameter in inspect.signature(value).parameters:
            if parameter in NAMES:
                yield owner.__name__, name, parameter


def test_no_size_is_forgotten():
    found = {key for owner in (unibuf, UnifiedBuffer, MemoryPool) for key in parameters_of(owner)}
    # `view` is no function, but what may be called and indexed.
    found |= {("UnifiedBuffer", "view", "offset"), ("UnifiedBuffer", "view", "count")}
    assert found == set(OFFSETS) | set(SHAPES) | set(LIMITS) | ELSEWHERE
