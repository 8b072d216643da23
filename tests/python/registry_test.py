"""Buffers by name."""

import gc

import ml_dtypes
import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer, registry


@pytest.fixture(autouse=True)
def empty():
    yield
    for name in list(registry):
        del registry[name]


def test_a_name_gives_the_same_buffer():
    frames = UnifiedBuffer((2, 3), [("x", "f4"), ("n", "i2")])
    registry["frames"] = frames
    assert registry["frames"] is frames
    assert "frames" in registry and list(registry) == ["frames"] and len(registry) == 1
    del registry["frames"]
    with pytest.raises(KeyError, match="frames"):
        registry["frames"]
    with pytest.raises(KeyError):
        del registry["frames"]
    assert registry.get("frames") is None and not registry.remove("frames")


@pytest.mark.parametrize("refused", [UnifiedBuffer((4, 4)).view[:, 1], UnifiedBuffer((1,) * 9), np.ones(3)], ids=type)
def test_a_name_stays_where_its_new_buffer_is_refused(refused):
    registry.add("weights", UnifiedBuffer(4).fill(3), keep=True)
    with pytest.raises((unibuf.UnibufError, TypeError)):
        registry["weights"] = refused
    assert (registry["weights"].host == 3).all()
    registry["weights"] = new = UnifiedBuffer(2)
    assert registry["weights"] is new


def test_a_name_of_a_released_buffer_is_another_ones():
    pool, another = unibuf.MemoryPool(), unibuf.Registry()
    registry["frame"] = released = pool.acquire(4)
    pool.release(released)
    another["frame"] = new = UnifiedBuffer(4)
    assert registry["frame"].id == registry.get("frame").id == new.id


def test_names_keep_no_buffer_unless_told_to():
    buffer = UnifiedBuffer((10,)).fill(3)
    registry["weak"] = buffer
    registry.add("kept", UnifiedBuffer((4, 5), np.int16).fill(7), keep=True)
    del buffer
    assert list(registry) == ["kept"]
    found = registry["kept"]
    assert (found.shape, found.dtype) == ((4, 5), np.int16)
    assert found.to_numpy().sum() == 140


FIELDS = np.dtype([("x", "f4"), ("n", ">i2", (2,))])


@pytest.mark.parametrize(
    "dtype", [FIELDS, FIELDS["n"].base, np.dtype("M8[ms]"), np.dtype("V7"), ml_dtypes.bfloat16], ids=str
)
def test_elements_are_what_they_were(dtype):
    """Also when the buffer that was named has gone, and of names that another Registry gives."""
    buffer = UnifiedBuffer((4,), dtype).zeros()
    registry.add("first", buffer, keep=True)
    registry.add("part", buffer.view(1, 2), keep=True)
    del buffer
    gc.collect()
    for found in (registry["first"], unibuf.Registry()["first"]):
        assert (found.dtype, found.shape) == (np.dtype(dtype), (4,))
    assert registry["part"].dtype == np.dtype(dtype) and registry["part"].shape == (2,)
    registry["first"] = UnifiedBuffer((3,), np.void(np.dtype(dtype).itemsize).dtype)
    assert registry.get("first") is None  # it has gone, and what had the name has nothing to do with the next one
    registry.add("first", UnifiedBuffer((3,), np.void(np.dtype(dtype).itemsize).dtype), keep=True)
    assert registry["first"].dtype == np.dtype(f"V{np.dtype(dtype).itemsize}")


def test_names_that_are_gone_are_forgotten():
    for number in range(1000):
        registry[f"frame {number}"] = UnifiedBuffer((1,), FIELDS)
    assert len(unibuf.registry._dtypes) < 300


def test_views_have_names_too():
    buffer = UnifiedBuffer((10, 4)).fill(0)
    registry.add("rows", buffer.view(2, 3), keep=True)
    registry["rows"].host[:] = 1
    assert buffer.to_numpy().sum() == 12


def test_a_name_is_taken_until_it_is_given_again():
    first, second = UnifiedBuffer((1,)), UnifiedBuffer((2,))
    registry.add("name", first)
    with pytest.raises(unibuf.InvalidArgumentError, match="taken"):
        registry.add("name", second)
    registry["name"] = second
    assert registry["name"] is second


def test_what_is_released_to_a_pool_has_no_name():
    pool = unibuf.MemoryPool()
    buffer = pool.acquire((10,))
    registry["pooled"] = buffer
    pool.release(buffer)
    assert "pooled" not in registry


def test_what_cannot_be_named_is_told():
    with pytest.raises(ValueError, match="up to 8 axes"):
        registry.add("deep", UnifiedBuffer((1,) * 9))
    with pytest.raises(ValueError, match="empty name"):
        registry.add("", UnifiedBuffer((1,)))


def test_it_is_a_mapping():
    kept = UnifiedBuffer(3)
    registry["mapped"] = kept
    assert dict(registry)["mapped"] is kept and "mapped" in registry.keys() and "'mapped'" in repr(registry)
    assert registry.pop("mapped") is kept and registry.get("mapped", 7) == 7
