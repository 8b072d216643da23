"""States move as the documents tell, on every device."""

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import SPACES
from unibuf import AccessConflictError, BufferNotAllocatedError, BufferState, UnifiedBuffer

N = 5000

U, H, D, S, HD, DD, M = BufferState


# The table that C++ and C have, too.

STORIES = Path(__file__).parents[1] / "support" / "state_story.inc"
STEP = re.compile(r"^UNIBUF_STEP\((\w+), (\w+), (\w+), (\w+)\)", re.MULTILINE)


def steps(story):
    return [rest for which, *rest in STEP.findall(STORIES.read_text()) if which == story]


class Player:
    """What the table calls a verb."""

    def __init__(self, device):
        self.device, self.array = device, None
        self.buffer = UnifiedBuffer(N, np.uint8)

    def lease(self, access, space, offset=0, count=None):
        with getattr(self.buffer, access)(space, offset=offset, count=count):
            pass

    def read_at_host(self):
        self.lease("read", "host")

    def write_at_host(self):
        self.lease("write", "host")

    def read_write_at_host(self):
        self.lease("read_write", "host")

    def write_part_at_host(self):
        self.lease("write", "host", 50)

    def read_at_device(self):
        self.lease("read", self.device)

    def write_at_device(self):
        self.lease("write", self.device)

    def read_write_at_device(self):
        self.lease("read_write", self.device)

    def write_part_at_device(self):
        self.lease("write", self.device, 0, 9)

    def have_host(self):
        self.array = self.buffer.host

    def have_host_to_read(self):
        assert self.buffer.host is not None

    def have_device(self):
        array = self.buffer.device
        if self.device == "host":
            self.array = array

    def store(self):
        self.array[3] += 1

    def prefetch_to_device(self):
        self.buffer.prefetch(self.device)

    def sync_to_host(self):
        self.buffer.sync_to_host()

    def sync_to_device(self):
        self.buffer.sync_to_device()

    def mark_host(self):
        self.buffer.mark_host_dirty()

    def mark_device(self):
        self.buffer.mark_device_dirty()

    def mark_part_at_device(self):
        self.buffer.mark_device_dirty(0, 10)

    def fill(self):
        self.buffer.fill(1)

    def copy_part_from(self):
        self.buffer.view(7, 1).copy_from(np.full(1, 3, np.uint8))


def test_stories(device):
    for story in ["at_the_host"] if device == "host" else ["with_a_device", "with_stores"]:
        player = Player(device)
        assert len(steps(story)) >= 7
        for verb, before, after in steps(story):
            assert player.buffer.state.value == before, f"{story}, before {verb}"
            getattr(player, verb)()
            assert player.buffer.state.value == after, f"{story}, after {verb}"
        assert device != "host" or player.buffer.statistics.bytes_moved == 0


# What only Python has


def write(buffer):
    buffer.host[7] += 1


ACTIONS = {
    "host": lambda b: b.host,
    "device": lambda b: b.device,
    "write": write,
    "set": lambda b: b.host.__setitem__(slice(None), 3),
    "item": lambda b: b.__setitem__(5, b[5] + 1),
    "mark_device": lambda b: b.mark_device_dirty(),
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
    "items": [("item", HD), ("device", S), ("item", HD)],
    "whole arrays": [("fill", HD), ("device", S), ("copy_from", HD), ("device", S), ("to_numpy", S)],
    "reads change nothing": [("set", HD), ("to_numpy", HD), ("device", S), ("to_numpy", S), ("device", S)],
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


def test_the_first_synchronization_makes_a_copy(device):
    assert UnifiedBuffer((N,)).state is U
    buffer = UnifiedBuffer((N,))
    buffer.sync_to_device()
    assert buffer.state is (D if buffer.placement(device).placement == "mirrored" and device != "host" else S)
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
    assert np.shares_memory(buffer.device, buffer.host)
    assert isinstance(buffer.device, np.ndarray)
    buffer.device[3] = 1
    assert buffer.state is S  # both are the same memory
    buffer.host[4] = 1
    assert buffer.state is HD and buffer.device[4] == 1 and buffer.state is S
    _ = buffer.device
    buffer.host[5] = 1  # written after `device`
    assert buffer.state is HD and buffer.view(0, 9).state is HD
    _ = buffer.device
    buffer.mark_device_dirty()
    _ = buffer.host
    assert buffer.statistics.transfers_made == 0
