"""Tools that show what a buffer is: they move no byte, and allocate nothing."""

import inspect
import pydoc
import rlcompleter
from unittest import mock

import pytest
from unibuf import BufferState, UnifiedBuffer, UnsupportedError

N = 5000


@pytest.fixture(params=["fresh", "host_dirty", "device_dirty"])
def untouched(request, device):
    """A buffer that has to be afterwards what it was before."""
    buffer = UnifiedBuffer((N,))
    if request.param != "fresh":
        buffer.host[:] = 1
    if request.param == "device_dirty":
        _ = buffer.device
        buffer.mark_device_dirty()
    before = buffer.state, buffer.statistics
    yield buffer
    assert (buffer.state, buffer.statistics) == before
    assert buffer.is_at("host") == (request.param != "fresh")


def test_completion(untouched):
    completer = rlcompleter.Completer({"b": untouched})
    names = [completer.complete("b.", i) for i in range(300)]
    assert {"b.host", "b.device", "b.state", "b.fill("} <= set(names)
    assert completer.complete("b.ho", 0) == "b.host"


def test_members(untouched):
    members = dict(inspect.getmembers(untouched))
    assert members["nbytes"] == 4 * N and "host" not in members
    assert inspect.getmembers(untouched, inspect.ismethod)


def test_variables_of_a_debugger(untouched):
    for name in dir(untouched):
        getattr(untouched, name, None)


def test_a_mock_of_it(untouched):
    assert mock.create_autospec(untouched).fill(3) is not None


def test_words(untouched):
    assert "UnifiedBuffer" in repr(untouched) and "UnifiedBuffer" in str(untouched)
    assert "mark_host_dirty" in pydoc.plain(pydoc.render_doc(untouched))


def test_what_is_not_there_is_not_there(untouched):
    assert not hasattr(untouched, "metal")
    with pytest.raises(UnsupportedError, match="macOS"):
        _ = untouched.metal


def test_properties_tell_what_they_are():
    for name, text in ("host", "NumPy array"), ("device", "default device"):
        found = inspect.getattr_static(UnifiedBuffer, name)
        assert isinstance(found, property) and text in inspect.getdoc(found)
        with pytest.raises(AttributeError):
            setattr(UnifiedBuffer(3), name, 1)
    assert UnifiedBuffer(3).state is BufferState.UNINITIALIZED
