"""Operators and functions of NumPy where the newest content is at a CUDA device: CuPy computes there if it takes all of
the operands, and NumPy at the host otherwise."""

import subprocess
import sys

import cupy
import numpy as np
import pytest
from conftest import as_numpy
from unibuf import BufferState, UnifiedBuffer, UnsupportedError

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)
MASK = ROWS > 5


@pytest.fixture(autouse=True)
def default(default_device):
    default_device("cuda:0")


def filled(content=ROWS):
    made = UnifiedBuffer(content.shape, content.dtype).copy_from(content)
    made.sync_to_device()
    made.mark_device_dirty()
    return made


THERE = {
    "a number": lambda b: b + 1,
    "a number of NumPy's": lambda b: np.float32(2) * b,
    "a buffer": lambda b: b * b,
    "an array of CuPy": lambda b: np.add(b, b.device) if isinstance(b, UnifiedBuffer) else b + b,
    "two results": lambda b: np.divmod(b, 5)[1],
    "a result of CuPy": lambda b: np.where(b > 5, b, 0),
    "a function": lambda b: np.sum(b, axis=(0, 1)),
    "a list of buffers": lambda b: np.concatenate([b, b], axis=1),
    "what says how": lambda b: np.sum(b, dtype=np.float64, out=None, keepdims=True),
}
AT_HOST = {
    "an array": lambda b: b + ROWS,
    "an array to the left": lambda b: ROWS + b,
    "a list": lambda b: b + [1, 2, 3, 4],
    "an array without axes": lambda b: b * np.array(2.0),
    "a comparison": lambda b: b == ROWS,
    "a ufunc": lambda b: np.hypot(b, ROWS),
    "a method of a ufunc": lambda b: np.add.reduce(b),
    "another one": lambda b: np.maximum.outer(b, 2),
    "a mask that is an array": lambda b: np.sum(b, where=MASK),
    "a function of an array": lambda b: np.where(MASK, b, 0),
    "an array in a list": lambda b: np.concatenate([b, ROWS]),
    "a list of numbers": lambda b: np.dot(b, [1, 2, 3, 4]),
    "lists of buffers": lambda b: np.dot([b, b], ROWS.T),
    "an array and a buffer": lambda b: np.dot(b, ROWS.T),
    "a verdict": lambda b: np.array_equal(b, ROWS),
    "what CuPy lacks": lambda b: np.insert(b, 1, 7),
}


BIG_ENDIAN = np.arange(6, dtype=">f4")


@pytest.mark.parametrize("compute", [lambda b: b + 1, lambda b: np.sum(b), lambda b: np.multiply(b, 2, out=b)])
def test_bytes_in_the_other_order_are_computed_with_at_the_host(compute):
    assert np.array_equal(compute(filled(BIG_ENDIAN)), compute(BIG_ENDIAN.copy()))


@pytest.mark.parametrize(
    "give",
    [
        lambda b: b.device,
        lambda b: b.cuda().cupy(),
        lambda b: b.read("cuda:0").__enter__(),
        lambda b: UnifiedBuffer((6,), np.float32).copy_from(b.cuda()),
    ],
)
def test_bytes_in_the_other_order_are_not_given_to_cupy(give):
    buffer = filled(BIG_ENDIAN)
    with pytest.raises(UnsupportedError, match=r"a CuPy array of >f4 .* a buffer of float32, by copy_from"):
        give(buffer)
    assert np.array_equal(buffer.to_numpy(), BIG_ENDIAN)
    assert np.array_equal(UnifiedBuffer((6,), np.float32).copy_from(buffer).device.get(), BIG_ENDIAN)


@pytest.mark.parametrize("name", THERE)
def test_what_cupy_takes_is_done_there(name):
    b = filled()
    moved = b.statistics.bytes_moved
    found = THERE[name](b)
    assert isinstance(found, cupy.ndarray) and b.statistics.bytes_moved == moved
    assert np.array_equal(as_numpy(found), THERE[name](ROWS))


def test_what_is_newest_at_the_host_goes_to_an_array_of_the_device():
    at_host, there = UnifiedBuffer(ROWS.shape, ROWS.dtype).copy_from(ROWS), filled().device
    both = np.concatenate([at_host, there])
    assert isinstance(both, cupy.ndarray) and np.array_equal(as_numpy(both), np.concatenate([ROWS, ROWS]))
    at_host.mark_host_dirty()
    total = at_host + there
    assert isinstance(total, cupy.ndarray) and np.array_equal(as_numpy(total), ROWS * 2)
    at_host.mark_host_dirty()
    at_host += there
    assert at_host.state is BufferState.DEVICE_DIRTY and np.array_equal(at_host.to_numpy(), ROWS * 2)


@pytest.mark.parametrize("name", AT_HOST)
def test_what_cupy_refuses_is_done_at_the_host(name):
    found, expected = AT_HOST[name](filled()), AT_HOST[name](ROWS)
    assert type(found) is type(expected) and np.array_equal(found, expected)


def test_results_that_take_the_place_of_buffers():
    b, expected = filled(), ROWS.copy()
    b += 1
    assert b.state is BufferState.DEVICE_DIRTY
    assert np.multiply(b, 2, out=b) is b and b.state is BufferState.DEVICE_DIRTY
    assert np.add(b, 1, out=b, where=filled(MASK)) is b and b.state is BufferState.DEVICE_DIRTY
    expected = np.where(MASK, (ROWS + 1) * 2 + 1, (ROWS + 1) * 2)
    assert (b.to_numpy() == expected).all()
    b = filled(expected)
    b -= ROWS
    assert np.add(b, 1, out=b, where=MASK) is b
    assert (b.to_numpy() == expected - ROWS + MASK).all()
    quotient, rest = filled(), filled()
    assert np.divmod(filled(), 5, out=(quotient, rest))[1] is rest
    assert (quotient.to_numpy() == ROWS // 5).all() and (rest.to_numpy() == ROWS % 5).all()
    array = np.empty_like(ROWS)
    assert np.add(filled(), 1, out=array) is array and (array == ROWS + 1).all()
    np.add.at(quotient, (0, 0), 7)
    assert quotient.host[0, 0] == 7


def test_elements_that_cupy_has_not():
    days = np.arange(3).astype("M8[D]")
    assert (filled(days) + 1 == days + 1).all()


WITHOUT_CUPY = """
import sys
sys.modules["cupy"] = None  # cannot be imported
import unibuf
buffer = unibuf.UnifiedBuffer(10).fill(1, at="cuda:0")
assert (buffer + 1 == 2).all()
"""


def test_without_cupy():
    done = subprocess.run([sys.executable, "-c", WITHOUT_CUPY], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
