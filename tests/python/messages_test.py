"""Errors say what a user of Python can do: they name no function of C++, and none of the classes inside."""

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer


def filled():
    return UnifiedBuffer((4, 3)).copy_from(np.arange(12).reshape(4, 3))


def delete_element(b):
    del b[0]


def delete_of_view(b):
    del b.view[0]


MESSAGES = {
    "del b[0]": (delete_element, ValueError, "elements of a buffer cannot be deleted"),
    "del b.view[0]": (delete_of_view, ValueError, "elements of a buffer cannot be deleted"),
    "shape": (lambda b: setattr(b, "shape", (3, 4)), AttributeError, r"`shape` of a buffer stays .*reshape\(shape\)"),
    "dtype": (lambda b: setattr(b, "dtype", "i4"), AttributeError, r"`dtype` of a buffer stays .*astype\(dtype\)"),
    "nbytes": (lambda b: setattr(b, "nbytes", 3), AttributeError, "`nbytes` of a buffer stays as it was made"),
    "del b.size": (lambda b: delattr(b, "size"), AttributeError, "`size` of a buffer stays as it was made"),
    "state": (lambda b: setattr(b, "state", "HOST_DIRTY"), AttributeError, "`state` .*: mark_dirty, mark_host_dirty"),
    "b.view.host": (lambda b: b.view.host, AttributeError, r"takes an index, and its result has 'host': view\[:\]"),
    "b.view.T": (lambda b: b.view.T, AttributeError, r"takes an index, and its result has 'T': view\[:\]"),
    "b.view.hots": (lambda b: b.view.hots, AttributeError, "no attribute 'hots'"),
    "b.view()": (
        lambda b: b.view(),
        TypeError,
        r"number of its first row, .* or an index, view\[1:3\]; None was given",
    ),
    "b.view(i4)": (lambda b: b.view("i4"), TypeError, r"; 'i4' was given: .* `host.view\(dtype\)`"),
    "discard_content": (
        lambda b: (b.host, b.discard_content()),
        unibuf.AccessConflictError,
        r"arrays .*: drop them \[",
    ),
    "share": (lambda b: (b.host, b.share()), unibuf.AccessConflictError, r"arrays .*: drop them \["),
    "discard": (lambda b: (b.host, b.discard("host")), unibuf.AccessConflictError, r"arrays .*: drop them \["),
}


@pytest.mark.parametrize("what", MESSAGES)
def test_a_message(what, device):
    call, error, text = MESSAGES[what]
    b = filled()
    _ = b.device
    with pytest.raises(error, match=text) as raised:
        call(b)
    for name in ("release_host", "release_device", "BufferBase", "Views", "object has no setter"):
        assert name not in str(raised.value)
    assert (b.to_numpy() == filled().host).all()


def test_a_device_that_is_missing_is_told_from_those_that_are_there():
    with pytest.raises(unibuf.DeviceUnavailableError, match=r"there is debug:0 \[unibuf"):
        unibuf.set_default_device("debug:3")
