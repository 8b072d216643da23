"""Wrong arguments: each is refused in one sentence, that says what was given and allowed, and changes nothing."""

import re

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer


@pytest.fixture
def buffer():
    return UnifiedBuffer((6, 2)).fill(1)


def refused(error, words, call):
    with pytest.raises(error) as found:
        call()
    text = str(found.value)
    assert re.search(words, text), text
    assert "incompatible function arguments" not in text and "\n" not in text


@pytest.mark.parametrize("words, call", [
    (r"'pined' is an invalid keyword|unexpected keyword argument 'pined'", lambda: UnifiedBuffer((3,), pined=True)),
    (r"missing required argument 'shape'", lambda: UnifiedBuffer()),
    (r"at most 2 positional arguments \(3 given\)", lambda: UnifiedBuffer((3,), np.float32, True)),
    (r"other than None, .*; None was given", lambda: UnifiedBuffer((3,), None)),
    (r"an int or a tuple of ints; an array of shape \(3, 4\) was given: from_n", lambda: UnifiedBuffer(np.eye(3, 4))),
    (r"an int or a tuple of ints; an array of shape \(3,\) was given: from_numpy", lambda: UnifiedBuffer(np.zeros(3))),
    (r"an int or a tuple of ints; \(3\.0, 2\) was given", lambda: UnifiedBuffer((3.0, 2))),
    (r"True or False; 'yes' was given", lambda: unibuf.get_memory_pool().acquire(3, pinned="yes")),
    (r"a pool takes back a UnifiedBuffer; ndarray was given", lambda: unibuf.get_memory_pool().release(np.zeros(3))),
    (r"a pool takes back a UnifiedBuffer; NoneType was given", lambda: unibuf.get_memory_pool().release(None)),
    (r"a number of bytes is an int; 'x' was given", lambda: unibuf.MemoryPool().trim("x")),
    (r"a limit is None, or a number of bytes .*; 1\.5 was given", lambda: unibuf.MemoryPool().limit(1.5)),
    (r"a count of buffers is an int; None was given", lambda: unibuf.MemoryPool().reserve(None, 3)),
    (r"a limit is None, or a number of bytes .*; '1' was given", lambda: unibuf.limit_memory("debug:0", "1")),
    (r"a space is named by a str, .*; None was given", lambda: unibuf.set_default_device(None)),
    (r"a space is named by a str, .*; 3 was given", lambda: unibuf.get_accelerator(3)),
    (r"a space is named by a str, .*; 3 was given", lambda: unibuf.trim_memory(3)),
    (r"takes a numpy\.ndarray; list was given: .*copy_from", lambda: unibuf.from_numpy([1, 2])),
    (r"without a mask; a masked one was given: .*filled", lambda: unibuf.from_numpy(np.ma.masked_array([1], [0]))),
    (r"the name of a buffer is a str; 3 was given", lambda: unibuf.attach(3)),
    (r"the name of a buffer is a str; 3 was given", lambda: unibuf.registry.get(3)),
    (r"the name of a buffer is a str; None was given", lambda: unibuf.registry.add(None, UnifiedBuffer(3))),
    (r"a UnifiedBuffer; list was given", lambda: unibuf.registry.add("x", [1])),
    (r"keep is True or False; 'no' was given", lambda: unibuf.registry.add("x", UnifiedBuffer(3), keep="no")),
])  # fmt: skip
def test_of_the_package(words, call):
    refused(TypeError, words, call)
    assert "x" not in unibuf.registry


@pytest.mark.parametrize("words, call", [
    (r"a limit is .* not negative .*; -1 was given", lambda: unibuf.limit_memory("debug:0", -1)),
    (r"not negative .* 63 bits; 18446744073709551616 was given", lambda: unibuf.limit_memory("debug:0", 2**64)),
    (r"a limit is .* not negative .*; -1 was given", lambda: unibuf.MemoryPool().limit(-1)),
    (r"a number of bytes is not negative .*; -1 was given", lambda: unibuf.MemoryPool().trim(-1)),
    (r"a count of buffers is not negative .*; -1 was given", lambda: unibuf.MemoryPool().reserve(-1, 3)),
])  # fmt: skip
def test_numbers_that_cannot_be(words, call):
    refused(ValueError, words, call)
    assert unibuf.get_accelerator("debug:0").memory.limit is None


@pytest.mark.parametrize("words, call", [
    (r"number of its first row, .*; slice\(0, 2, None\) was given", lambda b: b.view(slice(0, 2))),
    (r"number of its first row, .*; <class 'numpy.int32'> was given", lambda b: b.view(np.int32)),
    (r"number of its first row, .*; None was given", lambda b: b.view()),
    (r"'rows'", lambda b: b.view(0, rows=1)),
    (r"an offset is an int; 'x' was given", lambda b: b.sync_to_host("x")),
    (r"a count is an int, or None for the rest; 1\.5 was given", lambda b: b.sync_to_device(0, 1.5)),
    (r"'ofset'", lambda b: b.mark_host_dirty(ofset=3)),
    (r"an offset is an int; None was given", lambda b: b.mark_device_dirty(None)),
    (r"missing required argument 'space'", lambda b: b.mark_dirty()),
    (r"a space is named by a str, .*; None was given", lambda b: b.discard(None)),
    (r"a space is named by a str, .*; 3 was given", lambda b: b.prefetch(3)),
    (r"a space is named by a str, .*; 3 was given", lambda b: b.placement(3)),
    (r"free\(\) takes no arguments \(1 given\)", lambda b: b.free(True)),
    (r"discard_content\(\) takes no arguments \(1 given\)", lambda b: b.discard_content(0)),
    (r"an offset is an int; 'x' was given", lambda b: b.read("host", offset="x")),
    (r"a count is an int, or None for the rest; 'x' was given", lambda b: b.write("host", count="x")),
    (r"told is True or False; 3 was given", lambda b: b.bound("debug:0", told=3)),
    (r"access is one of 'read', 'read_write'; None was given", lambda b: b.bound("debug:0", access=None)),
    (r"an offset is an int; 1\.0 was given", lambda b: b.bound("debug:0", offset=1.0)),
    (r"an access is no array: `with buffer.read\(...\) as array:`", lambda b: b.read("host")[0]),
    (r"__init__ was called again", lambda b: b.__init__((7,))),
])  # fmt: skip
def test_of_a_buffer(buffer, words, call):
    before = buffer.state, buffer.statistics
    refused(TypeError, words, lambda: call(buffer))
    assert (buffer.state, buffer.statistics) == before and buffer.shape == (6, 2)
    assert (buffer.to_numpy() == 1).all()


def test_an_access_is_no_array(buffer):
    access = buffer.read("host")
    refused(AttributeError, "no attribute 'sum'; an access is no array: `with buffer.read", lambda: access.sum())
    assert not hasattr(access, "shape")
    for use in (
        np.asarray, np.sum, lambda it: np.add(it, 1), lambda it: it + 1, lambda it: np.ones(12) * it,
        lambda it: buffer - it, buffer.copy_from,
    ):  # fmt: skip
        refused(TypeError, "", lambda use=use: use(access))
    with pytest.raises(TypeError):
        iter(access)
    with access as array:
        assert array.sum() == 12
        del array
