"""Buffers over arrays that are there already, to write and for reading."""

import copy
import pickle
import sys

import numpy as np
import pytest
import unibuf
from conftest import as_numpy
from unibuf import BufferState, UnifiedBuffer

N = 50_000


def test_a_buffer_over_an_array_copies_nothing(device):
    array = np.arange(N, dtype=np.float32)
    buffer = unibuf.from_numpy(array)
    assert np.shares_memory(buffer.host, array)
    assert buffer.state is BufferState.HOST_DIRTY
    shown = buffer.device
    assert as_numpy(shown)[7] == 7
    array[7] = 70
    assert buffer.state is (BufferState.SYNCHRONIZED if device == "host" else BufferState.HOST_DIRTY)
    assert as_numpy(buffer.device)[7] == 70
    shown += 1
    buffer.mark_device_dirty()
    _ = buffer.host
    assert array[8] == 9


def test_the_array_lives_as_long_as_the_buffer():
    array = np.ones(N)
    before = sys.getrefcount(array)
    buffer = unibuf.from_numpy(array)
    assert sys.getrefcount(array) > before
    host = buffer.host
    del buffer
    assert host.sum() == N
    del host
    assert sys.getrefcount(array) == before


@pytest.fixture
def constant(tmp_path):
    """A buffer over a file that is mapped for reading."""
    np.arange(N, dtype=np.float32).tofile(tmp_path / "weights")
    return unibuf.from_numpy(np.memmap(tmp_path / "weights", np.float32, mode="r"))


def test_an_array_for_reading_is_read_by_devices(constant, device):
    expected = np.arange(N)
    for _ in range(2):
        assert (as_numpy(constant.device) == expected).all() and (constant.host == expected).all()
    with constant.read(device) as array:
        assert (as_numpy(array) == expected).all()
    assert (constant + 1 == expected + 1).all() and constant[7] == 7
    assert constant._options()["access"] == "constant"


@pytest.mark.parametrize(
    "write",
    [
        lambda b: b.fill(1),
        lambda b: b.__setitem__(0, 1),
        lambda b: b.host.fill(1),
        lambda b: b.view[3:5].fill(1),
        lambda b: b.copy_from(np.ones(N, np.float32)),
        lambda b: b.write("host").__enter__(),
        lambda b: b.read_write("debug:0").__enter__(),
        lambda b: b.mark_device_dirty(),
        lambda b: b.__iadd__(1),
        lambda b: np.add(b, 1, out=b),
        lambda b: memoryview(b).__setitem__(0, 1.0),
        lambda b: b.share(),
    ],
)
def test_what_would_write_an_array_for_reading_is_an_error(constant, device, write):
    constant.device  # noqa: B018
    with pytest.raises((ValueError, TypeError), match=r"constant|read-?only|readonly|cannot modify"):
        write(constant)
    assert (constant.to_numpy() == np.arange(N)).all() and (as_numpy(constant.device) == np.arange(N)).all()


def test_a_mark_tells_what_others_have_written_to_memory_for_reading(device):
    array = np.zeros(N)
    shown = array.view()
    shown.flags.writeable = False
    buffer = unibuf.from_numpy(shown)
    assert as_numpy(buffer.device)[3] == 0
    array[3] = 3
    buffer.mark_host_dirty()
    assert as_numpy(buffer.device)[3] == 3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_a_copy_of_what_is_constant_may_be_written(constant, copied):
    other = copied(constant)
    other[3] = 33
    assert constant[3] == 3 and other[3] == 33 and (other.host[4:] == np.arange(4, N)).all()


def test_what_was_constant_is_an_empty_buffer_when_it_is_freed(constant):
    constant.free()
    assert not constant.is_allocated and (constant.fill(2).to_numpy() == 2).all()


@pytest.mark.parametrize("array", [np.ones((4, 4))[:, ::2], np.broadcast_to(np.ones(3), (2, 3))])
def test_arrays_that_cannot_be_a_copy_are_refused(array):
    with pytest.raises(unibuf.InvalidArgumentError, match="copy_from"):
        unibuf.from_numpy(array)


@pytest.mark.parametrize("part", [np.s_[:], np.s_[:10], np.s_[N // 2 :]])
def test_an_array_is_the_memory_of_one_buffer_at_a_time(part):
    array = np.ones(N)
    buffer = unibuf.from_numpy(array)
    with pytest.raises(unibuf.InvalidArgumentError, match=rf"buffer #{buffer.id} .* use that one"):
        unibuf.from_numpy(array[part])
    with pytest.raises(unibuf.InvalidArgumentError, match="use that one"):
        unibuf.from_dlpack(array[part])
    del buffer
    assert unibuf.from_numpy(array[part]).host.sum() == array[part].size


@pytest.mark.parametrize("shown", [lambda b: b.host, lambda b: b.host[3:9], lambda b: np.asarray(memoryview(b))])
def test_a_buffers_own_memory_is_no_other_buffers(shown):
    buffer = UnifiedBuffer((N,)).fill(1)
    with pytest.raises(unibuf.InvalidArgumentError, match="the memory of another buffer"):
        unibuf.from_numpy(shown(buffer))


def test_a_buffer_over_what_exports_dlpack():
    array = np.arange(10.0)
    buffer = unibuf.from_dlpack(array)
    buffer.host[3] = 33
    assert array[3] == 33
