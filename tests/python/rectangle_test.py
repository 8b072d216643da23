"""Views of rectangles, against NumPy's arrays by the same index."""

import gc
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import unibuf
from conftest import usable
from rectangles import as_numpy, grid, moved
from unibuf import (
    AccessConflictError,
    InvalidArgumentError,
    UnifiedBuffer,
    UnsupportedError,
)

COMPUTING = "host", "debug:0"  # arrays there are those of NumPy
INDICES = [
    np.s_[2:10, ::2], np.s_[:, 3], np.s_[..., 3], np.s_[-1], np.s_[3], np.s_[1:-1, 1:-1], np.s_[5:6, 2:4], np.s_[::3],
    np.s_[2:9:3, -4:], np.s_[:], np.s_[...], np.s_[4, 5], np.s_[0:12, 0:1], np.s_[np.int64(2), 1:],
]  # fmt: skip


class WhileFreed:
    """An index during which another thread frees the buffer."""

    def __init__(self, buffer):
        self.buffer = buffer

    def __index__(self):
        self.buffer.free()
        return 1


@pytest.mark.parametrize("column", [1, slice(1, 3), slice(0, 4, 2)])
def test_a_view_of_what_is_freed_meanwhile_is_of_what_is_left(column):
    rectangle = UnifiedBuffer((4, 4), np.int32).view[:, column]
    rectangle.view[WhileFreed(rectangle)].fill(5)
    expected = np.zeros(rectangle.shape, np.int32)
    expected[1] = 5
    assert (rectangle.host == expected).all()


@pytest.mark.parametrize("index", INDICES)
def test_a_view_is_what_an_array_has_by_the_index(device, index):
    buffer, content = grid()
    view, expected = buffer.view[index], content[index]
    assert (view.shape, view.size, view.nbytes, view.ndim) == (
        expected.shape, expected.size, expected.nbytes, expected.ndim,
    )  # fmt: skip
    assert np.array_equal(view.to_numpy(), expected)
    assert np.array_equal(view.host, expected)
    assert np.array_equal(as_numpy(view.device), expected)
    assert view.id == buffer.id
    if not expected.flags.c_contiguous:
        assert view.strides == expected.strides == view.host.strides


@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 4, 5), (2, 2, 3, 2, 4), (2, 1, 2, 2, 2, 2, 3)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.dtype([("a", "i1"), ("b", "f4")]), "S5"])
def test_any_axes_and_types(device, shape, dtype):
    numbers = np.random.default_rng(len(shape)).integers(0, 100, np.prod(shape)).reshape(shape)
    content = numbers.astype("i1").astype(dtype) if np.dtype(dtype).names is None else np.zeros(shape, dtype)
    if content.dtype.names:
        content["b"] = numbers
    buffer = UnifiedBuffer(shape, dtype, hint="gpu_preferred").copy_from(content)
    _ = buffer.device
    index = tuple(slice(0, extent - 1 if extent > 1 else 1) for extent in shape)
    view = buffer.view[index]
    view.copy_from(content[index][::-1].copy())
    expected = content.copy()
    expected[index] = content[index][::-1]
    assert np.array_equal(
        as_numpy(view.read(None).__enter__()) if device == "host" else view.to_numpy(), expected[index]
    )
    assert np.array_equal(buffer.to_numpy(), expected)


@pytest.mark.parametrize("index", [np.s_[:, 3], np.s_[1:-1, 1:-1], np.s_[2:10, ::2]])
def test_what_is_written_through_host_is_found(device, index):
    buffer, content = grid()
    view = buffer.view[index]
    array = view.host
    _ = buffer.device
    array += 100
    content[index] += 100
    assert np.array_equal(as_numpy(buffer.device), content)
    assert np.array_equal(as_numpy(view.device), content[index])


def test_only_its_bytes_move():
    space = usable("debug:0")
    unibuf.set_default_device(space)
    buffer, content = grid((300, 200))
    _ = buffer.device
    column = buffer.view[:, 7]
    for count in range(3):
        before = moved(buffer)
        with column.write(space) as array:
            array[:] = count
        column.sync_to_host()
        assert moved(buffer) - before == column.nbytes
        with column.read_write("host") as array:
            array += 1
        column.sync_to_device()
        assert moved(buffer) - before == 2 * column.nbytes
    content[:, 7] = 3
    assert np.array_equal(buffer.to_numpy(), content)


def test_every_verb(device):
    buffer, content = grid()
    view = buffer.view[2:7, 3:6]
    view.fill(5)
    content[2:7, 3:6] = 5
    assert np.array_equal(buffer.to_numpy(), content)
    view.zeros()
    content[2:7, 3:6] = 0
    view.prefetch(device)
    view.sync_to_device()
    with view.read_write(device) as array:
        assert array.shape == (5, 3)
        if device in COMPUTING:
            array += 2
            content[2:7, 3:6] += 2
    view.mark_dirty("host")
    view.sync_to_host()
    assert np.array_equal(as_numpy(view), content[2:7, 3:6]) or device == "debug:0"
    out = np.empty((5, 3), np.float64)
    view.copy_to(out)
    assert np.array_equal(out, view.to_numpy())
    other = UnifiedBuffer((5, 3)).copy_from(view)
    assert np.array_equal(other, view.to_numpy())
    assert np.array_equal(pickle.loads(pickle.dumps(view)).to_numpy(), out)
    assert np.array_equal(pickle.loads(pickle.dumps(view, protocol=4)).to_numpy(), out)
    assert "5, 3" in repr(view)
    with view.bound(device) if device != "host" else view.read("host"):
        pass


def test_numpy_functions_take_rectangles(device):
    buffer, content = grid()
    view = buffer.view[1:-1, ::2]
    view += 1
    content[1:-1, ::2] += 1
    assert np.array_equal(np.sin(view), np.sin(content[1:-1, ::2]))
    np.multiply(view, 2, out=view)
    content[1:-1, ::2] *= 2
    assert np.array_equal(buffer.to_numpy(), content)
    assert view.sum() == content[1:-1, ::2].sum() if hasattr(view, "sum") else np.sum(view) == content[1:-1, ::2].sum()


def test_steps_keep_the_elements_between(device):
    buffer, content = grid()
    view = buffer.view[::2, 1::3]
    _ = buffer.device
    view.fill(-1).fill(-2, at="host")
    content[::2, 1::3] = -2
    assert np.array_equal(buffer.to_numpy(), content)
    view.copy_from(np.arange(view.size, dtype=np.float32).reshape(view.shape))
    content[::2, 1::3] = np.arange(view.size).reshape(view.shape)
    if device in COMPUTING:
        with view.write(device) as array:
            array *= 3
        content[::2, 1::3] *= 3
    assert np.array_equal(buffer.to_numpy(), content)
    with pytest.raises(UnsupportedError, match="with steps"):
        view.mark_dirty("host")


@pytest.mark.parametrize("is_newest_at_device", [False, True])
def test_steps_are_written_where_the_host_may_not_read(is_newest_at_device, default_device):
    default_device("debug:0")
    buffer, expected = UnifiedBuffer((4, 5), access="write_only").fill(1), np.ones((4, 5))
    if is_newest_at_device:
        buffer.fill(1, at="debug:0")
    every_other = buffer.view[::2, ::2].fill(3)
    buffer.view[1::2, ::2].zeros()
    buffer.view[:, 1::2].copy_from(np.full((4, 2), 7))
    buffer.view[0, 1::3] = 9
    expected[::2, ::2], expected[1::2, ::2], expected[:, 1::2], expected[0, 1::3] = 3, 0, 7, 9
    with buffer.read("debug:0") as there:
        assert (there == expected).all()
    for read in (lambda: every_other.to_numpy(), lambda: every_other + 1, lambda: np.sum(buffer)):
        with pytest.raises(ValueError, match="created write_only: the host may not read it"):
            read()


def test_rectangles_exclude_only_who_shares_an_element():
    buffer, _ = grid()
    with buffer.view[:, 3].write("host") as left, buffer.view[:, 4].write("host") as right:
        left[:], right[:] = 1, 2
        with pytest.raises(AccessConflictError, match="rows among bytes"):
            buffer.view[5].read("host").__enter__()
        done = threading.Event()

        def beside():
            buffer.view[:, 5].fill(3)
            done.set()

        thread = threading.Thread(target=beside)
        thread.start()
        assert done.wait(60)
        thread.join()
    assert buffer.host[0, 3:6].tolist() == [1, 2, 3]


@pytest.mark.parametrize("index, kind, says", [
    (np.s_[12], IndexError, "index 12 is out of bounds for axis 0 with size 12"),
    (np.s_[0, -10], IndexError, "index -10 is out of bounds for axis 1"),
    (np.s_[0, 0, 0], IndexError, "3 indices were given for 2 axes"),
    (np.s_[..., ...], IndexError, "one ellipsis"),
    (np.s_[::-1], ValueError, "a step of -1 along axis 0 .* steps of 1 or more"),
    (np.s_[:, ::0], ValueError, "a step of 0 along axis 1"),
    (np.s_[:, 2**70], unibuf.OutOfRangeError, "axis 1 with size 9"),
    (np.s_[1.5:], TypeError, "slice indices"),
    (np.s_[np.array([1, 2])], TypeError, "ndarray was given"),
    (np.s_[None], TypeError, "NoneType was given"),
    (np.s_[[1, 2]], TypeError, "list was given"),
    (np.s_[True], TypeError, "bool was given"),
    (np.s_[1.5], TypeError, "float was given"),
])  # fmt: skip
def test_what_is_no_rectangle(index, kind, says):
    buffer, _ = grid()
    with pytest.raises(kind, match=says):
        buffer.view[index]


def test_what_rectangles_do_not_have():
    buffer, _ = grid()
    view = buffer.view[1:3, 2:4]
    for count in 1, view.size:
        for part in (
            lambda of=count: view.sync_to_host(0, of),
            lambda of=count: view.mark_host_dirty(0, of),
            lambda of=count: view.prefetch("host", count=of),
            lambda of=count: view.read("host", offset=0, count=of).__enter__(),
            lambda of=count: view.bound("debug:0", count=of).__enter__(),
        ):
            with pytest.raises(UnsupportedError, match="as a whole"):
                part()
    for of in view, UnifiedBuffer(5).view[::2]:
        with pytest.raises(InvalidArgumentError, match="share all of it"):
            of.share()
        with pytest.raises(InvalidArgumentError):
            unibuf.get_memory_pool().release(of)
        with pytest.raises(UnsupportedError, match="handle to a rectangle"):
            unibuf.registry.add("rectangle", of)
    with pytest.raises(InvalidArgumentError, match=r"shape \(3,\)"):
        view.copy_from(np.zeros(3, np.float32))


def test_rows_are_views_as_before():
    buffer, content = grid()
    assert np.array_equal(buffer.view(3, 4), content[3:7])
    assert np.array_equal(buffer.view[3:7].view[1:, 2:5], content[3:7][1:, 2:5])
    assert "views of" in repr(buffer.view)


def test_exports(device):
    buffer, content = grid()
    view = buffer.view[:, 2:5]
    assert np.array_equal(np.from_dlpack(view), content[:, 2:5])
    assert np.array_equal(memoryview(view), content[:, 2:5])
    assert np.array_equal(np.asarray(view, dtype=np.float64), content[:, 2:5])


# Views of views


@pytest.mark.parametrize("first, then", [
    (np.s_[:, 1:], np.s_[0]), (np.s_[1:, 1:], np.s_[1:, 0]), (np.s_[::2, ::2], np.s_[1::2, 1:3]),
    (np.s_[:, 3], np.s_[4:]), (np.s_[1::3, 2:], np.s_[..., -1]), (np.s_[2:5, 1:7:2], np.s_[-1, 1:]),
    (np.s_[:, 1:3], np.s_[...]), (np.s_[3], np.s_[::2]), (np.s_[:, 1:3], np.s_[3:3]), (np.s_[4:4, 1:3], np.s_[..., 0]),
])  # fmt: skip
def test_views_of_views(device, first, then):
    buffer, content = grid()
    view, expected = buffer.view[first].view[then], content[first][then]
    assert view.shape == expected.shape and np.array_equal(view.to_numpy(), expected)
    view.fill(-7)
    content[first][then] = -7
    assert np.array_equal(buffer.to_numpy(), content)


def test_rows_of_a_rectangle(device):
    buffer, content = grid()
    view = buffer.view[:, 2:5]
    assert np.array_equal(as_numpy(view.view(0).device), content[:, 2:5])
    assert np.array_equal(view.view(3, 4).host, content[3:7, 2:5])
    assert view.view(12).shape == (0, 3)
    with pytest.raises(IndexError, match="5 rows from row 8 on were asked for of a buffer with 12"):
        view.view(8, 5)


def test_an_array_that_begins_within_a_row():
    buffer, content = grid((4, 5, 6))
    view = buffer.view[2:3, 3:4, 1:4]
    assert view.shape == (1, 1, 3) and np.array_equal(view.view[..., ::2].host, content[2:3, 3:4, 1:4:2])


def test_a_view_keeps_what_it_is_of():
    view = UnifiedBuffer((4, 5)).fill(3).view[:, 1:].view[::2, 1]
    gc.collect()
    assert view.host.tolist() == [3, 3] and view.view[1].item() == 3


def test_views_of_nothing_and_of_one():
    buffer, content = grid()
    for index in np.s_[3:3], np.s_[3:3, ::2], np.s_[5:2, 1], np.s_[:, 9:]:
        empty = buffer.view[index]
        assert empty.shape == content[index].shape and empty.nbytes == 0
        assert empty.fill(1).to_numpy().shape == empty.host.shape == empty.shape
    one = buffer.view[2, 3]
    one.host[...] = 5
    assert one.view[()].item() == one.view[...].item() == buffer[2, 3] == 5
    assert UnifiedBuffer((0, 5)).view[:, ::2].shape == (0, 3)


# Together


def test_overlapping_views_are_coherent(device):
    buffer, content = grid((20, 20))
    views = [np.s_[:, 3:9], np.s_[5:12], np.s_[::3, ::2], np.s_[4:8, 4:8]]
    for number, index in enumerate(views * 3):
        view = buffer.view[index]
        if number % 3 == 0 and device in COMPUTING:
            with view.write(device) as array:
                array[...] = number
                del array
        elif number % 3 == 1:
            view.host[...] = number
        else:
            view.copy_from(np.full(view.shape, number, np.float32))
        content[index] = number
        for other in views:
            assert np.array_equal(buffer.view[other].host, content[other])
            assert np.array_equal(as_numpy(buffer.view[other].device), content[other])


def test_host_fetches_only_the_rectangle():
    unibuf.set_default_device(usable("debug:0"))
    buffer, _ = grid((300, 200))
    with buffer.read_write("debug:0") as array:
        array += 1
        del array
    before = moved(buffer)
    view = buffer.view[10:20, 50:60]
    assert view.host[0, 0] == 10 * 200 + 50 + 1 and moved(buffer) - before == view.nbytes
    assert buffer.view[10:20, 50:60].host is not view.host and moved(buffer) - before == view.nbytes


def test_each_caller_has_an_array_of_his_own():
    buffer, content = grid()
    view = buffer.view[:, 2:5]
    mine = view.host
    mine.flags.writeable = False
    theirs = view.host
    theirs[0, 0] = 99
    assert mine[0, 0] == 99 and theirs.flags.writeable and np.shares_memory(mine, buffer.host)
    view.host.shape  # noqa: B018
    with view.read_write("host") as array:
        array += 1
        part = array[1:]
    content[0, 2] = 99
    content[:, 2:5] += 1
    part[0, 0] = -5  # goes on as arrays of `host` do
    content[1, 2] = -5
    with buffer.read("debug:0") as there:
        assert np.array_equal(there, content)
        del there


def test_leases_of_disjoint_columns_in_threads():
    buffer, _ = grid((64, 8))
    here = threading.Barrier(8)

    def work(column):
        for count in range(20):
            with buffer.view[:, column].read_write("host" if count % 2 else "debug:0") as array:
                here.wait(60)  # all eight hold theirs
                array[...] = column * 100 + count
                del array

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, column) for column in range(8)]:
            done.result()
    assert buffer.host[7].tolist() == [column * 100 + 19 for column in range(8)]


def test_what_was_freed_is_an_array_of_its_own():
    buffer, content = grid()
    view = buffer.view[:, 2:5]
    kept = view.host
    view.free()
    assert view.strides == (12, 4) and view.to_numpy().sum() == 0 and view.id != buffer.id
    view.host[:] = 1
    assert np.array_equal(kept, content[:, 2:5]) and view.view[:, 1].to_numpy().sum() == 12


def test_copies_between_rectangles(device):
    buffer, content = grid()
    other = UnifiedBuffer((4, 6), np.float64)
    other.view[::2, 1:4].copy_from(buffer.view[3:5, 2:5])
    assert (
        other.to_numpy()[::2, 1:4].tolist() == content[3:5, 2:5].tolist()
        and other.to_numpy().sum() == content[3:5, 2:5].sum()
    )
    buffer.view[:4, :6].copy_to(other)
    assert np.array_equal(other.to_numpy(), content[:4, :6])
    buffer.view[:, 1:].copy_from(buffer.view[:, :-1])  # they overlap
    assert np.array_equal(buffer.to_numpy()[:, 1:], content[:, :-1])
    with pytest.raises(InvalidArgumentError, match="shape"):
        buffer.view[:, 1:3].copy_to(other)


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("index", [np.s_[:, 2:5], np.s_[::2, ::3]])
def test_pickles_have_the_elements_alone(protocol, index):
    buffer, content = grid()
    data = pickle.dumps(buffer.view[index], protocol)
    loaded = pickle.loads(data)
    assert np.array_equal(loaded.to_numpy(), content[index]) and loaded._strides is None
    assert len(data) < len(pickle.dumps(buffer, protocol))


def test_words():
    buffer, _ = grid()
    _ = buffer.device
    before = buffer.statistics
    text = repr(buffer.view[:2, 1:3])
    assert "[[ 1.,  2.]," in text and "shape=(2, 2), dtype=float32, strides=(36, 4), state=" in text
    assert buffer.statistics == before
    assert "strides" not in repr(buffer.view[1:3]) and "strides" not in repr(buffer)


def test_arrays_of_pyopencl(default_device):
    default_device("opencl:0")
    arrays = pytest.importorskip("pyopencl.array")
    queue = unibuf.get_accelerator("opencl:0").queue
    for index in np.s_[:, 2:5], np.s_[::2, ::3]:
        buffer, content = grid()
        view = buffer.view[index]
        shown = view.device
        assert (shown.shape, shown.strides, shown.offset) == (
            view.shape,
            view.strides,
            8 if index[0] == np.s_[:] else 0,
        )
        given = arrays.to_device(queue, np.full(view.shape, 5, np.float32))
        view.copy_from(given)
        content[index] = 5
        assert np.array_equal(buffer.to_numpy(), content)
        view.fill(6).copy_to(given)
        assert (given.get() == 6).all()
        with view.read("opencl:0", queue) as array:
            assert array.strides == view.strides
            del array
        exported = view.opencl(0)
        assert exported.nbytes == view.nbytes and exported.pyopencl().strides == view.strides


VALUES = {
    "to_numpy": lambda part: part.to_numpy(),
    "copy": lambda part: part.copy(),
    "copy_to": lambda part: _copied_to(part),
    "tolist": lambda part: np.array(part.tolist()),
    "item": lambda part: np.array([part.item(at) for at in range(part.size)]).reshape(part.shape),
}


def _copied_to(part):
    out = np.empty(part.shape, part.dtype)
    part.copy_to(out)
    return out


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("index", [np.s_[4], np.s_[:, 5], np.s_[2:4, 1:3], np.s_[3, 2]])
def test_values_of_a_part_leave_the_host_as_it_is(values, index):
    buffer, content = grid()
    with buffer.read_write("debug:0") as memory:
        del memory
    before = buffer.statistics.bytes_moved
    part = buffer.view[index]
    found = VALUES[values](part)
    assert np.array_equal(found.reshape(part.shape), content[index])
    if values != "item" or part.size == 1:
        assert buffer.statistics.bytes_moved - before == part.nbytes
        assert buffer.state is unibuf.BufferState.DEVICE_DIRTY
    assert np.array_equal(VALUES[values](buffer.view[index]).reshape(part.shape), content[index])
    before = buffer.statistics.bytes_moved
    assert np.array_equal(part.host, content[index])
    assert buffer.statistics.bytes_moved == before, "the second reading has brought them"
