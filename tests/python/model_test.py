"""Whatever is done to a buffer, from wherever, in whatever order: it holds what a NumPy array would.

The one thing that NumPy does not have is a host that writes, through an array obtained before, what a device has newer
content of: that, and nothing else, is a conflict.
"""

import numpy as np
import pytest
from conftest import SPACES, as_numpy
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from unibuf import AccessConflictError, BufferNotAllocatedError, BufferState, MemoryPool, UnifiedBuffer

SMALL, PAGES = 60, 3500  # elements: told apart by comparing, and by pages

parts = st.tuples(st.integers(0, PAGES), st.integers(1, PAGES))  # of a handle, by part_of
picks = st.integers(0, 1000)


def put(array, begin, end, values):
    """Writes elements of an array of any device."""
    if isinstance(array, np.ndarray):
        array[begin:end] = values
    else:
        array[begin:end].set(values)


class Handle:
    """A buffer or a view of it, and where it begins."""

    def __init__(self, buffer, offset=0):
        self.buffer, self.offset, self.count = buffer, offset, buffer.size

    @property
    def all(self):
        return slice(self.offset, self.offset + self.count)

    def part_of(self, part):
        begin = part[0] % self.count
        end = min(self.count, begin + part[1])
        return begin, end, slice(self.offset + begin, self.offset + end)


class Model(RuleBasedStateMachine):
    device, hint, size = "host", None, SMALL

    def __init__(self):
        super().__init__()
        self.pool = MemoryPool()
        self.last = 0
        self.begin_anew(pooled=False)

    def begin_anew(self, pooled):
        make = self.pool.acquire if pooled else UnifiedBuffer
        self.whole = make((self.size,), np.int32, hint=self.hint)
        self.pooled = pooled
        self.forget()

    def forget(self):
        self.content = np.zeros(self.size, np.int32)
        self.newer = np.zeros(self.size, bool)  # some device has what the host's memory lacks
        self.handles = [Handle(self.whole)]
        self.arrays = []  # of the host, with their first element

    def fresh(self, count):
        """Values that were nowhere before."""
        first = self.last + 1
        self.last += count
        return np.arange(first, first + count, dtype=np.int32)

    def pick(self, index):
        return self.handles[index % len(self.handles)]

    def shares_host_memory(self, space):
        if space == "host":
            return True
        return self.whole.is_at(space) and self.whole.placement(space).placement == "shared"

    def now_written(self, space, where, values):
        self.content[where] = values
        self.newer[where] = not self.shares_host_memory(space)

    def now_at_host(self, where):
        self.newer[where] = False

    # Arrays of the host, and writes through them at any time later

    @rule(index=picks)
    def take_host_array(self, index):
        of = self.pick(index)
        self.arrays.append((of.buffer.host, of.offset))
        self.now_at_host(of.all)
        assert np.array_equal(of.buffer.host, self.content[of.all])

    @precondition(lambda self: self.arrays)
    @rule(index=picks)
    def drop_host_array(self, index):
        del self.arrays[index % len(self.arrays)]

    @precondition(lambda self: self.arrays)
    @rule(index=picks, part=parts, stands=st.sampled_from(["host", "device", "neither"]))
    def write_through_host_array(self, index, part, stands):
        array, offset = self.arrays[index % len(self.arrays)]
        begin = part[0] % array.size
        end = min(array.size, begin + part[1])
        where = slice(offset + begin, offset + end)
        values = self.fresh(end - begin)
        array[begin:end] = values
        lost = np.flatnonzero(self.newer[where]) + where.start
        self.content[where] = np.where(self.newer[where], self.content[where], values)
        if lost.size:
            self.settle(lost, values[lost - where.start], stands)

    def settle(self, lost, values, stands):
        with pytest.raises(AccessConflictError, match="mark_host_dirty"):
            _ = self.whole.host
        with pytest.raises(AccessConflictError):
            self.whole.to_numpy()
        if stands == "neither":
            self.whole.fill(7)
            self.content[:] = 7
            self.newer[:] = not self.host_has_all()
            return
        if stands == "host":
            for begin, end in runs_of(lost):
                self.whole.mark_host_dirty(begin, end - begin)
            self.content[lost] = values
            self.newer[lost] = False
        for begin, end in runs_of(np.flatnonzero(self.newer)):
            self.whole.mark_device_dirty(begin, end - begin)

    def host_has_all(self):
        return self.whole.state not in (BufferState.DEVICE_DIRTY, BufferState.DEVICE_ONLY, BufferState.MIXED)

    # Devices

    @rule(index=picks, part=parts)
    def write_device_array(self, index, part):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        array = of.buffer.device
        values = self.fresh(end - begin)
        put(array, begin, end, values)
        of.buffer.mark_device_dirty(begin, end - begin)
        self.now_written(self.device, where, values)

    @rule(index=picks)
    def read_device_array(self, index):
        of = self.pick(index)
        assert np.array_equal(as_numpy(of.buffer.device), self.content[of.all])

    @rule(index=picks, part=parts, space=st.booleans())
    def prefetch(self, index, part, space):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        of.buffer.prefetch(self.device if space else "host", begin, end - begin)
        if not space:
            of.buffer.sync_to_host(begin, end - begin)  # what is written meanwhile may be in it or not
            self.now_at_host(where)

    @rule(index=picks, part=parts, to_host=st.booleans())
    def sync(self, index, part, to_host):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        try:
            (of.buffer.sync_to_host if to_host else of.buffer.sync_to_device)(begin, end - begin)
        except BufferNotAllocatedError:
            assert not self.whole.is_allocated
        else:
            if to_host:
                self.now_at_host(where)

    @rule(index=picks)
    def synchronize(self, index):
        of = self.pick(index)
        if of.buffer.is_allocated:
            of.buffer.synchronize()
            self.now_at_host(of.all)
            assert self.whole.state is not BufferState.UNINITIALIZED

    @rule(index=picks, part=parts)
    def mark_host(self, index, part):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        if not self.newer[where].any() and self.whole.is_at("host"):
            with of.buffer.read("host", offset=begin, count=end - begin):  # current there, so the mark changes nothing
                pass
            of.buffer.mark_host_dirty(begin, end - begin)

    # For the time of a block

    @rule(index=picks, part=parts, on_device=st.booleans())
    def read(self, index, part, on_device):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        space = self.device if on_device else "host"
        with of.buffer.read(space, offset=begin, count=end - begin) as array:
            assert np.array_equal(as_numpy(array), self.content[where])
        if not on_device:
            self.now_at_host(where)

    @rule(index=picks, part=parts, on_device=st.booleans(), keep=st.booleans())
    def write(self, index, part, on_device, keep):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        space = self.device if on_device else "host"
        values = self.fresh(end - begin)
        with of.buffer.write(space, offset=begin, count=end - begin) as array:
            put(array, 0, end - begin, values)
            kept = array[:] if keep and space == "host" else None
            del array
        self.now_written(space, where, values)
        if kept is not None:
            self.arrays.append((kept, where.start))

    @rule(index=picks, part=parts, some=parts, on_device=st.booleans())
    def read_write(self, index, part, some, on_device):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        space = self.device if on_device else "host"
        first = some[0] % (end - begin)
        last = min(end - begin, first + some[1])
        values = self.fresh(last - first)
        with of.buffer.read_write(space, offset=begin, count=end - begin) as array:
            assert np.array_equal(as_numpy(array), self.content[where])
            put(array, first, last, values)
        self.now_written(space, where, self.content[where])
        self.content[where.start + first : where.start + last] = values

    # Whole arrays

    @rule(index=picks, value=st.integers(-5, 5))
    def fill(self, index, value):
        of = self.pick(index)
        assert (of.buffer.fill(value) if value else of.buffer.zeros()) is of.buffer
        self.content[of.all] = value
        with of.buffer.read("host"):  # wherever it was filled
            self.now_at_host(of.all)

    @rule(index=picks, strided=st.booleans(), wide=st.booleans())
    def copy_from(self, index, strided, wide):
        of = self.pick(index)
        values = self.fresh(of.count).astype(np.int64 if wide else np.int32)
        of.buffer.copy_from(np.repeat(values, 2)[::2] if strided else values)
        self.now_written("host", of.all, values)

    @rule(index=picks, other=picks)
    def copy_from_another_part(self, index, other):
        of, source = self.pick(index), self.pick(other)
        count = min(of.count, source.count)
        values = self.content[source.offset : source.offset + count].copy()
        of.buffer.view(0, count).copy_from(source.buffer.view(0, count))
        self.now_at_host(source.all if source.count == count else slice(source.offset, source.offset + count))
        self.now_written("host", slice(of.offset, of.offset + count), values)

    @rule(index=picks, wide=st.booleans())
    def copy_to(self, index, wide):
        of = self.pick(index)
        out = np.zeros(of.count, np.int64 if wide else np.int32)
        of.buffer.copy_to(out)
        assert np.array_equal(out, self.content[of.all])
        self.now_at_host(of.all)

    @rule(index=picks, at=picks, write=st.booleans())
    def item(self, index, at, write):
        of = self.pick(index)
        at %= of.count
        assert of.buffer[at] == self.content[of.offset + at]
        if write:
            of.buffer[at] = self.content[of.offset + at] = self.fresh(1)[0]
        self.now_at_host(of.all)

    # Copies and handles come and go

    @precondition(lambda self: len(self.handles) < 4)
    @rule(index=picks, part=parts)
    def view(self, index, part):
        of = self.pick(index)
        begin, end, where = of.part_of(part)
        self.handles.append(Handle(of.buffer.view(begin, end - begin), where.start))

    @precondition(lambda self: len(self.handles) > 1)
    @rule(index=picks)
    def drop_view(self, index):
        del self.handles[1 + index % (len(self.handles) - 1)]

    @rule(at_host=st.booleans())
    def discard(self, at_host):
        space = "host" if at_host else self.device
        try:
            self.whole.discard(space)
        except AccessConflictError:
            pass  # nobody else is current, or arrays of it are held
        else:
            assert at_host or not self.newer.any() or self.device == "host"
            if at_host and not self.whole.is_at("host"):
                assert not self.arrays
                self.newer = self.content != 0

    @rule()
    def discard_content(self):
        try:
            self.whole.discard_content()
        except AccessConflictError:
            assert self.arrays
        else:
            assert not self.arrays
            self.content[:] = 0
            self.newer[:] = False

    @rule()
    def allocate(self):
        self.whole.allocate()
        self.now_at_host(slice(None))

    @rule(pooled=st.booleans(), by_free=st.booleans())
    def give_away(self, pooled, by_free):
        """Arrays of it show what they showed, and nobody else's memory."""
        with self.whole.read("host"):
            shown = self.content.copy()
        if by_free and not self.pooled:
            self.whole.free()
            assert self.whole.state is BufferState.UNINITIALIZED
        elif self.pooled:
            self.pool.release(self.whole)
        old, buffer, was_freed = self.arrays, self.whole, by_free and not self.pooled
        if was_freed:
            self.forget()
        else:
            self.begin_anew(pooled)
        for array, offset in old:
            assert np.array_equal(array, shown[offset : offset + array.size])
        for array, _ in old:
            array[:] = -77
        del buffer
        assert not self.whole.to_numpy().any()

    @invariant()
    def has_a_state(self):
        state = self.whole.state
        assert (state is BufferState.UNINITIALIZED) == (not self.whole.is_allocated)
        assert not self.newer.any() or state is not BufferState.HOST_ONLY

    def teardown(self):
        assert np.array_equal(self.whole.to_numpy(), self.content)
        assert np.array_equal(as_numpy(self.whole.device), self.content)
        self.forget()
        if self.pooled:
            self.pool.release(self.whole)
        del self.whole


def runs_of(indices):
    """Ascending indices as [begin, end) of those that follow each other."""
    for run in np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1):
        if run.size:
            yield int(run[0]), int(run[-1]) + 1


@pytest.mark.parametrize("size", [SMALL, PAGES])
@pytest.mark.parametrize("hint", [None, "gpu_preferred"])
@pytest.mark.parametrize("space", SPACES)
def test_it_holds_what_an_array_would(space, hint, size, default_device):
    default_device(space)
    machine = type("Machine", (Model,), {"device": space, "hint": hint, "size": size})
    budget = settings(
        max_examples=50,
        stateful_step_count=40,
        deadline=None,
        print_blob=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=budget)
