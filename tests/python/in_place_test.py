"""In-place operators on what a buffer gives: `b.host += 1`, `b.device += 1`, `b.view[1:-1] *= 2`."""

import gc
import weakref

import numpy as np
import pytest
import unibuf
from conftest import as_numpy
from unibuf import BufferState, UnifiedBuffer

ROWS = np.arange(12, dtype=np.float32).reshape(4, 3)
INDICES = (0, (slice(1, -1),), (slice(None), 1), (slice(None, None, 2), slice(1, None)), (1, 2), ...)


def filled():
    return UnifiedBuffer((4, 3)).copy_from(ROWS)


def test_the_host_s_array(device):
    b = filled()
    _ = b.device
    b.host += 1
    b.host[1:] *= 2
    expected = ROWS + 1
    expected[1:] *= 2
    assert (as_numpy(b.device) == expected).all() and (b.host == expected).all()
    column = b.view[:, 1]
    column.host -= 5
    expected[:, 1] -= 5
    assert (b.host == expected).all()


def test_the_device_s_array(device):
    b = filled()
    b.device += 1  # with no mark: the assignment is one
    assert (b.host == ROWS + 1).all()
    b.device *= 2
    if device != "host":
        assert b.state is BufferState.DEVICE_DIRTY
    assert (b.to_numpy() == (ROWS + 1) * 2).all()


@pytest.mark.parametrize("side", ["host", "device"])
def test_no_other_array_takes_its_place(side, device):
    b = filled()
    for other in (ROWS, 5, None, filled().host, b.host[1:], b.T, b.host.view(np.int32)):
        with pytest.raises(AttributeError, match=rf"`{side}`.*copy_from"):
            setattr(b, side, other)
    with pytest.raises(AttributeError, match=f"`{side}`"):
        delattr(b, side)
    assert (b.host == ROWS).all()


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_a_view(index, device):
    b, expected = filled(), ROWS.copy()
    b.view[index] += 1
    b.view[index] *= 2
    expected[index] += 1
    expected[index] *= 2
    assert (b.to_numpy() == expected).all() and (as_numpy(b.device) == expected).all()


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("value", [7, "row", "buffer"])
def test_what_is_assigned_to_a_view_is_assigned_to_its_elements(index, value, device):
    b, expected = filled(), ROWS.copy()
    row = np.zeros_like(ROWS[index]) + 3
    given = {"row": row, "buffer": UnifiedBuffer(row.shape).fill(3), 7: 7}[value]
    b.sync_to_device()
    b.view[index] = given
    expected[index] = 7 if value == 7 else row
    assert (b.to_numpy() == expected).all() and (as_numpy(b.device) == expected).all()


@pytest.mark.parametrize(
    ("to", "source"), [((0,), (3,)), ((slice(0, 3),), (slice(1, 4),)), ((slice(1, 4),), (slice(0, 3),)), (..., 0)]
)
def test_one_view_is_assigned_to_another_by_one_kept_maker(to, source, device):
    b, expected = filled(), ROWS.copy()
    _ = b.device
    views = b.view
    views[to] = views[source]  # the view that was made last is the value, and not the target
    expected[to] = expected[source]
    assert (b.to_numpy() == expected).all() and (as_numpy(b.device) == expected).all()


def test_a_kept_maker_assigns_what_its_views_hold(device):
    b, expected = filled(), ROWS.copy()
    views, index = b.view, (slice(None), 1)
    last = views[:, 2]
    views[:, 0] = last
    views[:, 1] += views[:, 2]
    views[index] += 1
    expected[:, 0] = expected[:, 2]
    expected[:, 1] += expected[:, 2] + 1
    assert (b.to_numpy() == expected).all()
    freed = views[index]
    freed.free()  # it is an array of its own now, of zeros
    views[index] = freed
    expected[:, 1] = 0
    assert (b.to_numpy() == expected).all()


def test_a_view_that_was_computed_at_the_device_stays_there(default_device):
    default_device("debug:0")
    b = filled()
    with b.read_write("debug:0") as array:
        array += 1
    moved = b.statistics.bytes_moved
    b.view[1] += 1
    assert b.state is BufferState.DEVICE_DIRTY and b.statistics.bytes_moved == moved
    assert (b.host[1] == ROWS[1] + 2).all()


def test_no_view_is_kept_for_the_assignment():
    b = filled()
    views = b.view
    made = weakref.ref(views[1:3])
    gc.collect()
    assert made() is None
    with pytest.raises(ValueError, match="broadcast"):
        views[1:3] = np.zeros(5)
    with pytest.raises(unibuf.OutOfRangeError):
        views[7] = 1
    assert (b.host == ROWS).all()
