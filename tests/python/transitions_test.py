"""States move as the documents tell, on every device."""

import numpy as np
import pytest
from conftest import SPACES
from unibuf import AccessConflictError, BufferNotAllocatedError, BufferState, UnifiedBuffer

N = 5000

U, H, D, S, HD, DD, M = BufferState


def write(buffer):
    buffer.host[7] += 1


ACTIONS = {
    "host": lambda b: b.host,
    "device": lambda b: b.device,
    "write": write,
    "set": lambda b: b.host.__setitem__(slice(None), 3),
    "item": lambda b: b.__setitem__(5, b[5] + 1),
    "sync_to_device": lambda b: b.sync_to_device(),
    "sync_to_host": lambda b: b.sync_to_host(),
    "synchronize": lambda b: b.synchronize(),
    "mark_host": lambda b: b.mark_host_dirty(),
    "mark_device": lambda b: b.mark_device_dirty(),
    "mark_device_half": lambda b: b.mark_device_dirty(0, N // 2),
    "fill": lambda b: b.fill(4),
    "copy_from": lambda b: b.copy_from(np.full(N, 6, np.float32)),
    "to_numpy": lambda b: b.to_numpy(),
    "free": lambda b: b.free(),
    "allocate_host": lambda b: b.allocate(device=False),
    "allocate": lambda b: b.allocate(),
}

TABLES = {
    "as documented": [
        ("host", H),
        ("device", S),
        ("write", HD),
        ("device", S),
        ("mark_device", DD),
        ("host", S),
        ("write", HD),
    ],
    "state tracking": [("set", HD), ("sync_to_device", S)],
    "explicit": [
        ("set", HD),
        ("sync_to_device", S),
        ("mark_device", DD),
        ("sync_to_host", S),
        ("host", S),
        ("to_numpy", S),
    ],
    "marks": [
        ("host", H),
        ("mark_host", HD),
        ("device", S),
        ("mark_host", HD),
        ("mark_device", DD),
        ("mark_device", DD),
        ("synchronize", S),
        ("mark_host", HD),
        ("synchronize", S),
    ],
    "items": [("item", HD), ("device", S), ("item", HD)],
    "whole arrays": [("fill", HD), ("device", S), ("copy_from", HD), ("device", S), ("to_numpy", S)],
    "reads change nothing": [("set", HD), ("to_numpy", HD), ("device", S), ("to_numpy", S), ("device", S)],
    "both sides": [("set", HD), ("device", S), ("mark_device_half", DD), ("host", S)],
    "freed": [("set", HD), ("device", S), ("free", U), ("host", H), ("free", U), ("allocate_host", H)],
    "allocated": [("allocate", S), ("write", HD)],
}


@pytest.mark.parametrize("table", TABLES)
def test_table(device, table):
    buffer = UnifiedBuffer((N,), dtype=np.float32)
    assert buffer.state is U
    for step, (action, then) in enumerate(TABLES[table]):
        ACTIONS[action](buffer)
        assert buffer.state is then, f"step {step}, {action}"


def test_a_write_through_an_array_that_was_obtained_long_before(device):
    buffer = UnifiedBuffer((N,))
    old = buffer.host
    for value in range(1, 5):
        old[value] = value
        assert buffer.state is HD
        _ = buffer.device
        assert buffer.state is S
    view = old[100:200]
    del old
    view[0] = 1
    assert buffer.state is HD


def test_both_sides_hold_what_the_other_lacks(device):
    buffer = UnifiedBuffer((N,))
    buffer.host[:] = 1
    _ = buffer.device
    buffer.mark_device_dirty(0, 100)
    buffer.mark_host_dirty(4000, 100)
    assert buffer.state is M
    buffer.synchronize()
    assert buffer.state is S


def test_the_first_synchronization_makes_a_copy(device):
    assert UnifiedBuffer((N,)).state is U
    buffer = UnifiedBuffer((N,))
    buffer.sync_to_device()
    assert buffer.state is (D if buffer.placement(device)["placement"] == "mirrored" and device != "host" else S)
    buffer = UnifiedBuffer((N,))
    buffer.sync_to_host()
    assert buffer.state is H


@pytest.mark.parametrize("call", ["mark_host_dirty", "mark_device_dirty"])
def test_before_anything_is_allocated(device, call):
    buffer = UnifiedBuffer((N,))
    with pytest.raises(BufferNotAllocatedError, match="no copy"):
        getattr(buffer, call)()
    with pytest.raises(ValueError):
        getattr(buffer, call)()
    assert buffer.state is U


def test_content_moves_with_the_states(device, numpy_of):
    buffer = UnifiedBuffer((N,))
    buffer.host[:] = np.arange(N)
    array = buffer.device
    assert np.array_equal(numpy_of(array), np.arange(N))
    array += 1
    buffer.mark_device_dirty()
    assert np.array_equal(buffer.host, np.arange(N) + 1)
    buffer.host[10] = 5
    assert numpy_of(buffer.device)[10] == 5


@pytest.mark.parametrize("space", [each for each in SPACES if each.startswith(("debug", "cuda"))])
def test_a_write_where_the_device_is_newer_is_not_lost_silently(space, default_device):
    default_device(space)
    buffer = UnifiedBuffer((N,))
    old = buffer.host
    old[:] = 1
    _ = buffer.device
    buffer.mark_device_dirty()
    old[:] = 2
    with pytest.raises(AccessConflictError, match="mark_host_dirty"):
        _ = buffer.host
    with pytest.raises(BufferError):
        buffer.to_numpy()
    buffer.mark_host_dirty()
    assert buffer.host[0] == 2


def test_states_print_as_documented():
    buffer = UnifiedBuffer((100,), dtype=np.float32)
    assert f"{buffer.state}" == str(buffer.state) == "UNINITIALIZED"
    assert [state.value for state in BufferState] == [
        "uninitialized",
        "host_only",
        "device_only",
        "synchronized",
        "host_dirty",
        "device_dirty",
        "mixed",
    ]


def test_where_the_host_is_the_device_nothing_is_copied():
    buffer = UnifiedBuffer((N,))
    assert buffer.device is buffer.host
    assert isinstance(buffer.device, np.ndarray)
    buffer.device[3] = 1
    assert buffer.state is HD
    _ = buffer.device
    buffer.mark_device_dirty()
    _ = buffer.host
    assert buffer.statistics.transfers_made == 0
