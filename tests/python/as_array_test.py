"""A buffer where an array is expected: operators, functions of NumPy, comparisons, what it prints."""

import copy
import re
import weakref

import numpy as np
import pytest
import unibuf
from conftest import usable
from unibuf import BufferState, UnifiedBuffer

ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def filled():
    return UnifiedBuffer((3, 4)).copy_from(ROWS)


def at_device(device):
    """A buffer whose newest content is at the device alone."""
    made = UnifiedBuffer((3, 4)).copy_from(ROWS)
    made.sync_to_device()
    made.mark_device_dirty()
    return made


def test_operators_give_plain_arrays_and_write_into_buffers_in_place(device):
    b = same = filled()
    for result in (b + 1, 1 + b, -b, b**2, b @ ROWS.T, b > 3):
        assert type(result) is np.ndarray
    assert ((b * 2 - b) == ROWS).all() and ((b == ROWS) & (b != -1)).all()
    b += 1
    b *= b
    assert b is same and (b.to_numpy() == (ROWS + 1) ** 2).all()
    b[1] = 0
    assert (b.host[1] == 0).all() and 0 in b and -5 not in b


def test_what_is_computed_into_a_buffer_is_seen_everywhere(device, numpy_of):
    a, out = filled(), UnifiedBuffer((3, 4))
    _ = out.device
    assert np.add(a, a, out=out) is out
    assert (numpy_of(out.device) == 2 * ROWS).all()
    assert np.add(a, 1, out=out, where=ROWS > 5) is out
    assert (numpy_of(out.device) == np.where(ROWS > 5, ROWS + 1, 2 * ROWS)).all()
    quotient, rest = np.divmod(a, 5, out=(out, None))
    assert quotient is out and type(rest) is np.ndarray and (out.to_numpy() == ROWS // 5).all()
    total = UnifiedBuffer(4)
    assert np.add.reduce(a, axis=0, out=total) is total and (total.to_numpy() == ROWS.sum(0)).all()
    np.add.at(a, (0, [1, 1]), 10)
    assert a.host[0, 1] == 21
    assert np.cumsum(a, axis=0, out=out) is out and out.host[0, 1] == 21


def test_a_buffer_says_where_a_function_computes(device):
    b, mask, out = filled(), UnifiedBuffer((3, 4), bool).copy_from(ROWS > 5), UnifiedBuffer((3, 4))
    array, expected = ROWS.copy(), np.where(ROWS > 5, ROWS + 1, ROWS)
    np.add(array, 1, out=array, where=mask)
    assert (array == expected).all()
    assert np.add(b, 1, out=b, where=mask) is b and (b.to_numpy() == expected).all()
    assert np.add(ROWS, 1, out=out, where=mask) is out and (out.to_numpy() == np.where(ROWS > 5, ROWS + 1, 0)).all()
    for of in (ROWS, filled()):
        assert np.add.reduce(of, axis=None, where=mask) == np.sum(of, where=mask) == ROWS[ROWS > 5].sum()
    assert np.logical_not(mask, out=mask, where=mask) is mask and not mask.to_numpy().any()
    with mask.write("host") as block, pytest.raises(unibuf.AccessConflictError):  # read under a lease
        np.add(ROWS, 1, where=mask)
    del block


LISTS = {
    "a list": lambda b, c, s: b + [c, c, c],
    "a list to the left": lambda b, c, s: [c, c, c] + b,
    "a tuple": lambda b, c, s: np.add(b, (c, c, c)),
    "numbers among buffers": lambda b, c, s: np.maximum(c, [s, 1, s, 2]),
    "lists in a list": lambda b, c, s: b * [[s], [s], [3]],
    "a comparison": lambda b, c, s: b == [c, c, c],
    "a reduction": lambda b, c, s: np.add.reduce([c, c]),
    "a mask": lambda b, c, s: np.add.reduce(b, where=[c, c, c], axis=None),
    "a result that takes a buffer's place": lambda b, c, s: np.add(c, [s, s, s, s], out=c),
    "in place": lambda b, c, s: c.__iadd__([s, s, s, c[0]]),
}


@pytest.mark.parametrize("name", LISTS)
def test_buffers_in_lists_are_operands(name, device):
    mask = name == "a mask"
    arrays = ROWS.copy(), np.arange(4) > 1 if mask else np.arange(4.0), np.array(2.0)
    buffers = [UnifiedBuffer(each.shape, each.dtype).copy_from(each) for each in arrays]
    expected = LISTS[name](*arrays)
    for each in buffers:
        each.sync_to_device()
        each.mark_device_dirty()
    found = LISTS[name](*buffers)
    assert found is buffers[1] or type(found) is type(expected)
    assert (np.asarray(found) == expected).all()


READERS = {
    "np.sum": np.sum,
    "np.array_equal": lambda b: np.array_equal(b, ROWS),
    "np.concatenate": lambda b: np.concatenate([b, b]),
    "an element": lambda b: b[1, 2],
    "an element of a row": lambda b: b.view[1][2],
    "elements of an index": lambda b: b[[0, 2]],
    "elements of a mask": lambda b: b[ROWS > 5],
    "float": lambda b: float(b.view[0, 1]),
    "int": lambda b: int(b.view[0, 1]),
    "complex": lambda b: complex(b.view[0, 1]),
    "bool": lambda b: bool(b.view[0, 1]),
    "item": lambda b: b.item(5),
    "tolist": lambda b: b.tolist(),
    "format": lambda b: f"{b.view[0, 1]:.3f}",
    "in": lambda b: (5 in b, 50 in b),
    "copy": lambda b: b.copy(),
    "astype": lambda b: b.astype(int),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("space", ["host", "debug:0"])
def test_what_only_reads_works_in_a_block_that_reads(name, space, default_device):
    default_device("debug:0")
    b = filled()
    expected = READERS[name](b)
    with b.read(space) as block:
        assert np.array_equal(READERS[name](b), expected)
    moved = b.statistics.bytes_moved
    assert np.array_equal(READERS[name](b), expected) and b.statistics.bytes_moved == moved
    with b.write(space, offset=4, count=4) as row:  # holds some of the bytes, and excludes whoever reads them
        with pytest.raises(unibuf.AccessConflictError, match="same thread"):
            b.item(4)
        row[:] = 0
    del block, row


def test_what_may_be_written_is_no_part_of_a_block_that_reads(device):
    b, records = filled(), UnifiedBuffer(2, [("x", "i4")])
    with b.read("host") as block, records.read("host") as record:
        takes = (lambda: b[0], lambda: b[...], lambda: b.host, lambda: np.asarray(b), lambda: b.T, lambda: records[0])
        for take in takes:
            with pytest.raises(unibuf.AccessConflictError, match="thread holds a read lease.*end that one first"):
                take()
        with pytest.raises(IndexError):
            _ = b[7, 7]
    del block, record


def test_views_of_one_buffer_are_used_together(device):
    b = filled()
    first, second = b.view(0, 1), b.view(1, 1)
    first += second
    np.multiply(b, b.view(0, 1), out=b)
    assert (b.host[0] == (ROWS[0] + ROWS[1]) ** 2).all() and (b.host[1] == ROWS[1] * (ROWS[0] + ROWS[1])).all()


def test_functions_of_numpy_take_buffers(device):
    b = filled()
    assert np.concatenate([b, ROWS, b]).shape == (9, 4) and np.stack((b, b)).shape == (2, 3, 4)
    assert np.sum(b) == ROWS.sum() and (np.mean(b, axis=0) == ROWS.mean(0)).all() and np.allclose(b, ROWS)
    assert (np.where(b == 1, 5, 6) == np.where(ROWS == 1, 5, 6)).all()
    np.copyto(b, 9)
    np.fill_diagonal(b, 1)
    assert b.host[1, 1] == 1 and b.host[0, 1] == 9
    assert b.__array_namespace__().sum(b) == b.host.sum() if hasattr(ROWS, "__array_namespace__") else True


def test_work_is_done_where_the_content_is(default_device):
    default_device("debug:0")
    b = at_device("debug:0")
    assert b.state is BufferState.DEVICE_DIRTY
    moved = b.statistics.bytes_moved
    assert ((b + 1) == ROWS + 1).all() and np.max(b) == 11 and np.shape(b) == (3, 4)
    b += 1
    assert b.state is BufferState.DEVICE_DIRTY and b.statistics.bytes_moved == moved
    assert (b.host == ROWS + 1).all()


WRITERS = {
    "copyto": lambda b: np.copyto(b, 7),
    "put": lambda b: np.put(b, range(12), 7),
    "place": lambda b: np.place(b, np.ones((3, 4), bool), [7]),
    "putmask": lambda b: np.putmask(b, np.ones((3, 4), bool), 7),
    "the place of `out`": lambda b: np.sum(np.full((1, 3, 4), 7.0), 0, None, b),
    "a list, and the place of `out`": lambda b: np.concatenate([np.full((3, 4), 7.0)], 0, b),
    "a view": lambda b: np.ravel(b).__setitem__(..., 7),
    "an argument that is to be overwritten": lambda b: np.nan_to_num(b, copy=False, nan=7),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_functions_of_numpy_write_is_seen_everywhere(name, default_device):
    default_device("debug:0")
    b = UnifiedBuffer((3, 4)).fill(np.nan)
    b.sync_to_device()
    with b.write("debug:0", offset=0, count=4) as row:  # the host lacks these alone
        row[:] = np.nan
    assert b.state is BufferState.DEVICE_DIRTY
    WRITERS[name](b)
    assert (b.to_numpy() == 7).all()
    with b.read("debug:0") as array:
        assert (array == 7).all()


def test_functions_give_what_they_were_given_to_write_into(device):
    total = UnifiedBuffer((4,))
    assert np.sum(filled(), 0, None, total) is total and (total.host == ROWS.sum(0)).all()
    with pytest.raises(TypeError):
        np.sum(filled(), 0, None, total, unknown=1)


def test_a_refused_computation_leaves_the_buffer_as_it_was(device):
    whole = UnifiedBuffer((3, 4), int).copy_from(ROWS.astype(int))
    for nonsense in (lambda: whole.__iadd__(0.5), lambda: np.add(ROWS, 1, out=whole)):
        with pytest.raises(TypeError):
            nonsense()
    with pytest.raises(ValueError):
        np.add(whole, np.ones((5, 5), int), out=whole)
    assert (whole.to_numpy() == ROWS).all()
    with whole.write("host") as block, pytest.raises(unibuf.AccessConflictError):
        _ = whole + 1
    del block


def test_the_truth_of_many_elements_is_refused(device):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(filled())
    with pytest.raises(ValueError, match="ambiguous"):
        bool(UnifiedBuffer(0))
    assert UnifiedBuffer(()).fill(2) and not UnifiedBuffer(1)


def test_a_buffer_is_hashed_by_what_it_is():
    one, other = filled(), filled()
    assert len({one, other, one}) == 2
    by_id = weakref.WeakValueDictionary({each.id: each for each in (one, other)})  # `==` of keys would compare elements
    assert by_id[one.id] is one and one.view[1].id == one.id != other.id


@pytest.mark.filterwarnings("ignore:you are shuffling")
@pytest.mark.parametrize("of", [np.random.RandomState, np.random.default_rng])
def test_rows_are_shuffled_in_the_array_and_not_one_by_one(of, device):
    class Picture(UnifiedBuffer):
        def __setitem__(self, key, value):
            super().__setitem__(key, value)

    for b in (filled(), Picture((3, 4)).copy_from(ROWS)):
        with pytest.raises(TypeError, match="`host`"):
            of(2).shuffle(b)
        assert (b.host == ROWS).all()
        of(2).shuffle(b.host)
        assert (b.host == of(2).permutation(ROWS)).all() and (of(2).permutation(b) != b.host).any()
        b[0] = b[1]
        b[2], b[1] = b[1], 5
        b[1:] = b[:-1]
        b.__setitem__(0, b[0])
        b.__setitem__(0, ROWS[0])
        assert (b.host[0] == ROWS[0]).all() and (b.host[1:] == [b.host[1], np.full(4, 5)]).all()
    line = UnifiedBuffer(3).copy_from([1, 2, 3])
    of(2).shuffle(line)
    assert sorted(line) == [1, 2, 3]


def test_methods_of_arrays(device):
    b = filled()
    assert b.strides == ROWS.strides and b.itemsize == 4 and UnifiedBuffer(()).strides == ()
    assert b.astype(int).dtype == int and (b.reshape(4, 3) == ROWS.reshape(4, 3)).all()
    assert b.T.shape == (4, 3) and b.item(5) == 5.0 and b.tolist() == ROWS.tolist()
    assert np.shares_memory(b.T, b.host) and not np.shares_memory(b.copy(), b.host)
    assert type(b.copy()) is np.ndarray and type(copy.copy(b)) is UnifiedBuffer
    b.reshape(-1)[0] = 7
    assert b.host[0, 0] == 7


def test_what_is_printed_moves_nothing(default_device):
    default_device("debug:0")
    fresh = UnifiedBuffer(3)
    assert repr(fresh) == "UnifiedBuffer(shape=(3,), dtype=float32, state=UNINITIALIZED)"
    assert "UNINITIALIZED" in fresh._repr_html_() and fresh.state is BufferState.UNINITIALIZED
    fresh.host[:] = [1, 2, 3]
    assert repr(fresh) == "UnifiedBuffer([1., 2., 3.], shape=(3,), dtype=float32, state=HOST_DIRTY)"
    assert "[1., 2., 3.]" in fresh._repr_html_() and "<th>host</th>" in fresh._repr_html_()
    newer = at_device("debug:0")
    moved = newer.statistics.bytes_moved
    assert "[" not in repr(newer) and "DEVICE_DIRTY" in newer._repr_html_()
    assert newer.state is BufferState.DEVICE_DIRTY and newer.statistics.bytes_moved == moved
    with fresh.write("host") as block:
        assert repr(fresh).startswith("UnifiedBuffer(shape=")  # its content is unspecified now
    del block
    assert len(repr(UnifiedBuffer(1_000_000).fill(1))) < 200


def test_what_is_no_buffer_any_more_is_shown_in_words():
    pool = unibuf.MemoryPool()
    released = pool.acquire(3)
    pool.release(released)
    for b, words in ((released, "released to its pool"), (UnifiedBuffer.__new__(UnifiedBuffer), "used before")):
        assert words in repr(b) and words in b._repr_html_()


def test_the_html_of_a_buffer_names_each_space_once_and_has_aligned_columns(default_device):
    default_device("host")
    shown = UnifiedBuffer((2, 2)).fill(1)._repr_html_()
    assert shown.count("<th>host</th>") == 1
    assert "<pre>[[1., 1.],\n [1., 1.]]</pre>" in shown


def test_what_takes_buffers_of_bytes_takes_one(device, tmp_path):
    b = filled()
    view = memoryview(b)
    assert (view.shape, view.format, view.readonly) == ((3, 4), "f", False)
    assert bytes(b) == ROWS.tobytes() and np.shares_memory(np.asarray(b), b.host)
    _ = b.device
    view.cast("B").cast("f")[5] = 99  # found, though nobody told
    assert numpy_at(b)[1, 1] == 99
    file = tmp_path / "content"
    (ROWS + 1).tofile(file)
    with file.open("rb") as opened:
        assert opened.readinto(b) == b.nbytes
    assert (numpy_at(b) == ROWS + 1).all()
    gone = UnifiedBuffer(5000)
    held = memoryview(gone)
    del gone
    held[7] = 1.0
    assert held[7] == 1.0


def numpy_at(buffer):
    """The content of the default device."""
    array = buffer.device
    return array if isinstance(array, np.ndarray) else array.get()


def test_what_no_bytes_can_tell_is_refused_and_arrays_are_exact():
    fields = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    buffer = UnifiedBuffer(3, fields)
    with pytest.raises(BufferError, match="by `host`"):
        memoryview(buffer)
    assert np.asarray(buffer).dtype == fields and np.asarray(buffer).dtype.isalignedstruct
    output = UnifiedBuffer(3, access="read_only", device="debug:0")
    assert memoryview(output).readonly
    pool = unibuf.MemoryPool()
    pool.release(released := pool.acquire(3))
    with pytest.raises(unibuf.InvalidArgumentError):
        memoryview(released)


def test_a_buffer_without_axes_is_a_number():
    one = UnifiedBuffer((), np.uint8).fill(55)
    assert (int(one), float(one), complex(one), range(60)[one]) == (55, 55.0, 55 + 0j, 55)
    for of in (int, float, complex):
        with pytest.raises(TypeError, match="one element"):
            of(UnifiedBuffer(3).fill(1))
    with pytest.raises(TypeError, match="without axes"):
        range(3)[UnifiedBuffer(1, np.uint8)]


@pytest.mark.filterwarnings("ignore:Conversion of an array")  # NumPy 1.25 to 2.3
@pytest.mark.parametrize("of", [int, float, complex])
def test_one_of_one_element_is_a_number_where_such_an_array_is(of):
    digits = UnifiedBuffer((1, 1)).copy_from(np.frombuffer(b"1234", np.float32).reshape(1, 1))
    try:
        expected = of(digits.host)
    except TypeError as failure:
        with pytest.raises(TypeError, match=re.escape(str(failure))):
            of(digits)
    else:
        assert of(digits) == expected  # not the number that its bytes spell


@pytest.mark.parametrize("value", [2.5, 7, True, np.datetime64("2020-01-01"), 1 + 2j], ids=str)
def test_a_buffer_without_axes_is_formatted_as_its_element(value, device):
    array = np.array(value)
    b = UnifiedBuffer((), array.dtype).copy_from(array)
    for form in ("", ".2f", "+d", "x", ">12"):
        try:
            expected = format(array, form)
        except (TypeError, ValueError) as failure:
            with pytest.raises(type(failure)):
                format(b, form)
        else:
            assert format(b, form) == expected
    assert f"{b}" == f"{array}" and str(b) == repr(b)
    assert format(filled()) == str(filled()) == repr(filled())
    assert f"{filled().view[1, 2]:.2f}" == "6.00"
    with pytest.raises(TypeError, match="format string"):
        format(filled(), ".2f")


def test_reductions_are_methods(device):
    for b in filled(), at_device(device), filled().view[1:], at_device(device).view[:, 1]:
        array = b.to_numpy()
        for name in "all any argmax argmin max mean min prod std sum var".split():
            result, expected = getattr(b, name)(), getattr(array, name)()
            assert np.array_equal(np.asarray(result), expected), name
        assert np.allclose(np.asarray(b.sum(axis=0, keepdims=True)), array.sum(axis=0, keepdims=True))
        assert b.flatten("F").tolist() == array.flatten("F").tolist() and b.ravel().tolist() == array.ravel().tolist()
    b, total = filled(), UnifiedBuffer(4)
    b.ravel()[5] = 70
    b.flatten()[5] = 0
    assert b.host[1, 1] == 70 and b.sum(axis=0, out=total) is total and total.host[1] == b.host[:, 1].sum()
    with b.read("host"):
        assert b.max() == 70 and b.flatten()[5] == 70


def test_what_arrays_have_and_buffers_lack_is_named():
    b = UnifiedBuffer(3).fill(2)
    with pytest.raises(AttributeError, match=r"no attribute 'cumsum': arrays have it, as `host.cumsum`"):
        b.cumsum()
    with pytest.raises(AttributeError, match=r"no attribute 'get': to_numpy\(\) gives an array of the host"):
        b.get()
    for name in "cumsum", "get", "to":
        assert not hasattr(b, name)
        assert not hasattr(UnifiedBuffer, name)
        assert name not in dir(b)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
        _ = b.nonsense
    with pytest.raises(unibuf.UnsupportedError, match="metal is not available"):
        _ = b.metal


def test_a_class_of_the_programs_own_may_have_what_arrays_have():
    class Field(UnifiedBuffer):
        def mean(self):
            return float(self.host.mean())

    assert Field(3).fill(2).mean() == 2
    assert "mean" in dir(Field(3))


def test_arrays_of_pyopencl_are_no_elements():
    arrays = pytest.importorskip("pyopencl.array", reason="pyopencl is not installed")
    usable("opencl:0")
    there = arrays.zeros(unibuf.get_accelerator("opencl:0").queue, (3,), np.float32)
    b = UnifiedBuffer(3).fill(2)
    for add in (lambda: b + there, lambda: there + b):
        with pytest.raises(TypeError, match="PyOpenCL"):
            add()


@pytest.mark.parametrize("name", ["rot90", "diff", "histogram"])
def test_what_may_show_its_argument_is_done_at_the_host(name, default_device):
    default_device("debug:0")
    b = at_device("debug:0")
    calls = {"rot90": np.rot90, "diff": lambda b: np.diff(b, 0), "histogram": lambda b: np.histogram(1, b.view[0])[1]}
    result = calls[name](b)
    _ = b.device
    result[...] = 100
    assert (b.to_numpy() == 100).sum() == (b.device == 100).sum() == result.size
