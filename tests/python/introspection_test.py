"""Tools that show what a buffer is: they move no byte, and allocate nothing."""

import inspect
import pydoc
import rlcompleter
from unittest import mock

import numpy as np
import pytest
import unibuf
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


def callables():
    """All that the package has for its users to call, with the names that its documents have."""
    buffer = UnifiedBuffer(3)
    with buffer.bound("debug:0") as hold:
        objects = {"buffer": buffer, "pool": unibuf.MemoryPool(), "registry": unibuf.registry, "hold": hold,
                   "accelerator": unibuf.get_accelerator("host"), "unibuf": unibuf}  # fmt: skip
        for owner, found in objects.items():
            for name in getattr(found, "__all__", None) or [each for each in dir(found) if not each.startswith("_")]:
                each = inspect.getattr_static(type(found), name, None) or getattr(found, name)
                is_error = inspect.isclass(each) and issubclass(each, BaseException)
                if callable(each) and not is_error:
                    yield f"{owner}.{name}", getattr(found, name)
    yield from (("CudaView." + name, getattr(unibuf.CudaView, name)) for name in ("cupy", "__dlpack__"))
    yield "OpenCLView.pyopencl", unibuf.OpenCLView.pyopencl


@pytest.mark.parametrize("name, each", [pytest.param(*found, id=found[0]) for found in callables()])
def test_signatures_and_help(name, each):
    signature = inspect.signature(each)
    assert "args" not in signature.parameters or name == "unibuf.BufferState"
    assert inspect.getdoc(each)
    short = name.rpartition(".")[2]
    if not inspect.isclass(each):
        assert f"{short}(" in pydoc.plain(pydoc.render_doc(each))


def test_signatures_are_those_of_the_calls():
    options = "pinned=False, access='read_write', hint=None, device=None, tracking='auto', uninitialized=False"
    assert str(inspect.signature(UnifiedBuffer)) == f"(shape, dtype='float32', *, {options})"
    assert list(inspect.signature(UnifiedBuffer(3).view).parameters) == ["offset", "count"]
    assert str(inspect.signature(UnifiedBuffer(3).mark_dirty)) == "(space, offset=0, count=None, stream=None)"
    bound = inspect.signature(UnifiedBuffer).bind((3,), np.int16, hint="coherent")
    assert UnifiedBuffer(*bound.args, **bound.kwargs).dtype == np.int16

    class Mine(UnifiedBuffer):
        def __init__(self, rows):
            super().__init__((rows, 2))

    assert str(inspect.signature(Mine)) == "(rows)" and Mine(3).shape == (3, 2)
