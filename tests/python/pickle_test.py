"""Buffers in pickles: the content goes out of band where the pickler takes it so."""

import copy
import pickle

import numpy as np
import pytest
import unibuf
from unibuf import BufferState, UnifiedBuffer

STRUCTURED = np.dtype([("position", "<f4", (3,)), ("id", "<i8"), ("name", "S5")], align=True)


class Picture(UnifiedBuffer):
    """Made from UnifiedBuffer, to see that the class is kept."""


def out_of_band(buffer):
    taken = []
    return pickle.dumps(buffer, protocol=5, buffer_callback=taken.append), taken


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_content_and_shape_come_back(device, protocol):
    buffer = UnifiedBuffer((3, 5), np.int16)
    buffer.host[:] = np.arange(15).reshape(3, 5)
    back = pickle.loads(pickle.dumps(buffer, protocol))
    assert (back.shape, back.dtype) == ((3, 5), np.int16)
    assert np.array_equal(back.host, buffer.host)
    back.host[0, 0] = 77
    assert buffer.host[0, 0] == 0
    assert back.id != buffer.id


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_content_that_a_device_has_is_fetched(device, protocol):
    buffer = UnifiedBuffer((100,))
    buffer.host[:] = 1
    array = buffer.device
    array += 1
    buffer.mark_device_dirty()
    back = pickle.loads(pickle.dumps(buffer, protocol))
    assert back.state is BufferState.HOST_DIRTY
    assert (back.host == 2).all()


def test_out_of_band_nothing_is_copied():
    buffer = UnifiedBuffer((1000, 10))
    buffer.host[:] = 1
    pickled, taken = out_of_band(buffer)
    assert len(pickled) < 1000
    assert len(taken) == 1
    view = np.frombuffer(taken[0], np.float32)
    assert view.nbytes == buffer.nbytes
    assert np.shares_memory(view, buffer.host)
    back = pickle.loads(pickled, buffers=taken)
    assert np.array_equal(back.host, buffer.host)
    assert not np.shares_memory(back.host, buffer.host)


def test_what_was_taken_out_of_band_keeps_its_memory():
    buffer = UnifiedBuffer((1000,))
    buffer.host[:] = 3
    pickled, taken = out_of_band(buffer)
    del buffer
    assert (pickle.loads(pickled, buffers=taken).host == 3).all()


def test_buffers_may_come_as_any_bytes():
    buffer = UnifiedBuffer((1000,)).fill(3)
    pickled, taken = out_of_band(buffer)
    received = [bytes(each.raw()) for each in taken]
    assert (pickle.loads(pickled, buffers=received).host == 3).all()


def test_the_host_is_not_taken_as_written_for_being_pickled(default_device):
    default_device("debug:0")
    buffer = UnifiedBuffer((1000,), tracking="off")
    buffer.host[:] = 3
    _ = buffer.device
    before = buffer.statistics.transfers_made
    _, taken = out_of_band(buffer)
    _ = buffer.device
    assert buffer.state is BufferState.SYNCHRONIZED
    assert buffer.statistics.transfers_made == before
    assert len(taken) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"pinned": True},
        {"hint": "gpu_preferred"},
        {"device": "debug:0"},
        {"access": "read_only", "tracking": "off", "uninitialized": True},
        {"access": "write_only", "hint": "streaming"},
    ],
)
def test_options_are_kept(options):
    buffer = UnifiedBuffer((8,), **options)
    back = pickle.loads(pickle.dumps(buffer))
    assert back._options() == buffer._options() == {**UnifiedBuffer(1)._options(), **options}


@pytest.mark.parametrize("access", ["read_only", "write_only"])
@pytest.mark.parametrize("protocol", [4, 5])
def test_content_comes_back_whatever_the_host_does_with_it(access, protocol):
    buffer = UnifiedBuffer((8,), access=access).fill(2)
    back = pickle.loads(pickle.dumps(buffer, protocol))
    assert back.state is BufferState.HOST_DIRTY
    assert (back.device == 2).all()


@pytest.mark.parametrize("protocol", [2, 5])
@pytest.mark.parametrize("dtype", [STRUCTURED, "datetime64[us]", "c16", ">i4", "U7", "?"], ids=str)
def test_element_types(protocol, dtype):
    content = (
        np.array([((1, 2, 3), 4, b"five"), ((6, 7, 8), 9, b"ten")], dtype)
        if dtype is STRUCTURED
        else (np.array([0, 1, 2, 1]).astype(dtype))
    )
    buffer = UnifiedBuffer(content.shape, dtype)
    buffer.host[:] = content
    back = pickle.loads(pickle.dumps(buffer, protocol))
    assert back.dtype == buffer.dtype
    assert np.array_equal(back.host, content)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    buffer = UnifiedBuffer((4,), ml_dtypes.bfloat16).fill(1.5)
    back = pickle.loads(pickle.dumps(buffer))
    assert back.dtype == ml_dtypes.bfloat16
    assert (back.host == 1.5).all()


@pytest.mark.parametrize("shape", [0, (3, 0), ()])
@pytest.mark.parametrize("protocol", [2, 5])
def test_shapes_of_few_elements(shape, protocol):
    buffer = UnifiedBuffer(shape).fill(4)
    back = pickle.loads(pickle.dumps(buffer, protocol))
    assert back.shape == buffer.shape
    assert np.array_equal(back.host, buffer.host)


def test_what_nobody_has_written_is_not_sent():
    buffer = UnifiedBuffer((1 << 40,), np.uint8)
    pickled, taken = out_of_band(buffer)
    assert taken == []
    back = pickle.loads(pickled)
    assert back.shape == buffer.shape
    assert back.state is buffer.state is BufferState.UNINITIALIZED


def test_a_view_is_pickled_as_a_buffer_of_its_own():
    buffer = UnifiedBuffer((10, 4))
    buffer.host[:] = np.arange(40).reshape(10, 4)
    view = buffer.view(2, 3)
    pickled, taken = out_of_band(view)
    assert taken[0].raw().nbytes == view.nbytes
    back = pickle.loads(pickled, buffers=taken)
    assert np.array_equal(back.host, np.arange(8, 20).reshape(3, 4))
    back.host[:] = 0
    assert np.array_equal(view.host, np.arange(8, 20).reshape(3, 4))


def test_the_class_is_kept():
    back = pickle.loads(pickle.dumps(Picture((2, 2)).fill(1)))
    assert type(back) is Picture
    assert (back.host == 1).all()


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_copies_are_independent(make):
    buffer = UnifiedBuffer((4,)).fill(1)
    other = make(buffer)
    other.host[:] = 2
    assert (buffer.host == 1).all()


def test_where_the_receiver_lacks_the_device_it_is_for_the_default_one():
    make, arguments, _ = UnifiedBuffer((4,), device="debug:0").fill(3).__reduce_ex__(5)
    arguments[3]["device"] = "debug:99"
    back = make(*arguments)
    assert back._options()["device"] is None
    assert (back.host == 3).all()


class Named(UnifiedBuffer):
    """With an __init__ of its own, and attributes."""

    def __init__(self, size, name):
        super().__init__((size,), np.int32)
        self.name = [name]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda buffer: pickle.loads(pickle.dumps(buffer))])
def test_of_a_class_made_from_it(make):
    buffer = Named(5, "x")
    buffer.fill(3)
    other = make(buffer)
    assert type(other) is Named and other.name == ["x"] and (other.host == 3).all()
    assert (other.name is buffer.name) == (make is copy.copy)
    assert type(buffer.view(1, 2)) is Named and (buffer.view(1, 2).host == 3).all()


class Slotted(UnifiedBuffer):
    __slots__ = ("name", "unset")


class SlottedToo(Slotted):
    """Has a dictionary, too."""


class Stateful(Slotted):
    def __getstate__(self):
        return {"saved": self.name}

    def __setstate__(self, state):
        self.name = state["saved"] + ", restored"


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda buffer: pickle.loads(pickle.dumps(buffer))])
def test_attributes_are_those_of_any_object(make):
    slotted, both, stateful = Slotted(3).fill(1), SlottedToo(3).fill(2), Stateful(3).fill(3)
    slotted.name = both.name = both.other = stateful.name = "x"
    other = make(slotted)
    assert other.name == "x" and not hasattr(other, "unset") and (other.host == 1).all()
    other = make(both)
    assert (other.name, other.other) == ("x", "x") and (other.host == 2).all()
    other = make(stateful)
    assert other.name == "x, restored" and (other.host == 3).all()


def test_what_was_released_has_no_content():
    pool = unibuf.MemoryPool()
    buffer = pool.acquire(5)
    pool.release(buffer)
    for way in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(ValueError, match="released to its pool"):
            way(buffer)


def test_what_is_there_twice_is_copied_once():
    buffer = UnifiedBuffer(5).fill(2)
    first, second = copy.deepcopy([buffer, buffer])
    assert first is second and first is not buffer
