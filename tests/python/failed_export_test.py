"""The error that ends an export's wait: NumPy drops it and asks again, and yet it is raised once, and nowhere else."""

import os
import signal
import threading

import numpy as np
import pytest
import unibuf
from conftest import blocked
from unibuf import UnifiedBuffer

N = 5000


def test_an_array_is_waited_for_once():
    buffer = UnifiedBuffer(N)
    unibuf.set_default_timeout(1)
    thread, _ = blocked(buffer, 1.7)  # whoever waits twice gets it
    try:
        with pytest.raises(unibuf.LeaseTimeoutError):
            np.asarray(buffer)
    finally:
        unibuf.set_default_timeout(None)
        thread.join()
    assert (np.asarray(buffer) == 1).all()


def test_what_ended_one_wait_ends_no_other():
    buffer, other = UnifiedBuffer(N), UnifiedBuffer(N).fill(2)
    thread, done = blocked(buffer)
    unibuf.set_default_timeout(0.01)
    for get in (memoryview, np.asarray):
        with pytest.raises(unibuf.LeaseTimeoutError):
            get(buffer)
        assert (other.__array__() == 2).all()
    with pytest.raises(unibuf.LeaseTimeoutError):
        memoryview(buffer)
    unibuf.set_default_timeout(None)
    done.set()
    thread.join()
    assert (buffer.__array__() == 1).all()
    for each in (buffer, UnifiedBuffer(3, "M8[s]"), UnifiedBuffer(3, [("a", "u1")])):  # two without such a view
        assert np.asarray(each).dtype == each.dtype


def test_what_ended_an_export_ends_no_later_one():
    buffer = UnifiedBuffer(3, "M8[s]")  # arrays of dates have no such view, so that NumPy asks again for another
    thread, done = blocked(buffer)
    unibuf.set_default_timeout(0.01)
    failures = []
    for ask in (memoryview, np.asarray):
        try:
            ask(buffer)
        except Exception as failure:
            failures.append(type(failure))
        if not done.is_set():
            unibuf.set_default_timeout(None)
            done.set()
            thread.join()
    assert failures == [unibuf.LeaseTimeoutError]


def test_ctrl_c_ends_a_call_that_asks_twice():
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer, 20)
    try:
        threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            np.frombuffer(buffer, np.float32)
        assert thread.is_alive()
    finally:
        done.set()
        thread.join()
    assert (np.frombuffer(buffer, np.float32) == 1).all()


@pytest.mark.parametrize("ask", [memoryview, bytes, np.asarray, np.frombuffer])
@pytest.mark.parametrize("is_held", [False, True])
def test_ctrl_c_is_raised_once_where_the_same_line_asks_again(ask, is_held):
    buffer = UnifiedBuffer(N)
    thread, done = blocked(buffer, 20)
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    interrupts = []
    for _ in range(3):
        try:
            ask(buffer)
        except KeyboardInterrupt as interrupt:
            interrupts.append(interrupt if is_held else None)
            done.set()
            thread.join()
    assert len(interrupts) == 1
