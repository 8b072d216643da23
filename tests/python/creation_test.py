"""What makes buffers by NumPy's names, against what NumPy makes."""

import numpy as np
import pytest
import unibuf
from unibuf import BufferState, UnifiedBuffer

MADE = {
    "zeros": lambda of: of.zeros((2, 3)),
    "zeros, by an int": lambda of: of.zeros(4, np.int16),
    "ones": lambda of: of.ones((2, 3)),
    "ones of ints": lambda of: of.ones((), "u1"),
    "full": lambda of: of.full((2, 2), 7),
    "full of floats": lambda of: of.full(3, 2.5),
    "full, cast": lambda of: of.full(3, 2, np.float32),
    "zeros_like": lambda of: of.zeros_like(np.ones((2, 1), "i4")),
    "zeros_like a sequence": lambda of: of.zeros_like([[1, 2]]),
    "ones_like": lambda of: of.ones_like(np.zeros(3, "f4"), dtype="i2"),
    "full_like": lambda of: of.full_like(np.zeros(3, "f4"), 9, shape=(1, 2)),
    "asarray of a list": lambda of: of.asarray([[1.5, 2], [3, 4]]),
    "asarray of a number": lambda of: of.asarray(3),
    "asarray, cast": lambda of: of.asarray(np.arange(4), np.float32),
    "asarray, not contiguous": lambda of: of.asarray(np.arange(12).reshape(3, 4).T),
    "asarray of nothing": lambda of: of.asarray(np.zeros((0, 2))),
}


@pytest.mark.parametrize("make", MADE)
def test_what_is_made_is_what_numpy_makes(make):
    buffer, expected = MADE[make](unibuf), MADE[make](np)
    assert isinstance(buffer, UnifiedBuffer)
    assert (buffer.shape, buffer.dtype) == (expected.shape, expected.dtype)
    assert np.array_equal(buffer.to_numpy(), expected)


def test_empty_buffers_have_a_shape_and_any_content():
    for buffer in unibuf.empty((2, 3)), unibuf.empty_like(np.zeros((2, 3)), hint="gpu_preferred"):
        assert (buffer.shape, buffer.dtype) == ((2, 3), np.float64)
        assert buffer.state is BufferState.UNINITIALIZED
    assert not unibuf.empty(3, uninitialized=False).to_numpy().any()


def test_zeros_take_no_memory():
    buffer = unibuf.zeros(1 << 40, "u1")
    assert buffer.state is BufferState.UNINITIALIZED and buffer.nbytes == 1 << 40


def test_asarray_of_a_buffer_is_the_buffer_unless_it_has_to_be_another_one():
    buffer = unibuf.full(3, 2)
    assert unibuf.asarray(buffer) is buffer and unibuf.asarray(buffer, buffer.dtype) is buffer
    cast = unibuf.asarray(buffer, np.float32)
    other = unibuf.asarray(buffer, tracking="off")
    assert cast.dtype == np.float32 and other is not buffer
    buffer.fill(1)
    assert cast.to_numpy().tolist() == [2, 2, 2] and other.to_numpy().tolist() == [2, 2, 2]


def test_asarray_copies_an_array():
    array = np.arange(3)
    buffer = unibuf.asarray(array)
    array[:] = 9
    assert buffer.to_numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize("data", [object(), {1: 2}, [object()], None])
def test_what_is_no_array_is_refused(data):
    with pytest.raises(TypeError):
        unibuf.asarray(data)


def test_options_are_those_of_buffers():
    assert unibuf.ones(3, device="debug:0", hint="gpu_preferred").to_numpy().all()
    for make in unibuf.zeros, unibuf.empty, unibuf.ones:
        with pytest.raises(TypeError):
            make(3, order="F")
