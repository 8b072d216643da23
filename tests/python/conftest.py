"""What the tests of the Python package share. UNIBUF_TEST_SPACES names the devices that they run on."""

import gc
import os
import signal
import threading

import numpy as np
import pytest
import unibuf

# A shell has the jobs that it runs in the background ignore SIGINT, and Python keeps to that: here Ctrl-C is tested.
signal.signal(signal.SIGINT, signal.default_int_handler)

SPACES = os.environ.get("UNIBUF_TEST_SPACES", "host debug:0 opencl:0").split()


# Each run of a random test is like the last one; UNIBUF_TEST_SEED, if it is set, gives it other seeds.
FIRST_SEED = 1000 * int(os.environ.get("UNIBUF_TEST_SEED", "0"))


def usable(space):
    """Skips the test where a device is missing, and says why."""
    if space == "host":
        return space
    try:
        unibuf.get_accelerator(space)
    except unibuf.DeviceUnavailableError as missing:
        pytest.skip(str(missing))
    return space


@pytest.fixture
def default_device():
    """Sets the default device; it is the host again after the test."""
    yield lambda space: unibuf.set_default_device(usable(space))
    unibuf.set_default_device("host")


@pytest.fixture(params=SPACES)
def device(request, default_device):
    """Each device in its turn, as the default one. Of "host", the host is the device."""
    default_device(request.param)
    return request.param


@pytest.fixture(autouse=True)
def host_by_default():
    unibuf.set_default_device("host")


def as_numpy(array):
    """What an array of any device holds."""
    return np.array(array.get() if hasattr(array, "get") else array)


@pytest.fixture
def numpy_of():
    return as_numpy


def may_be_dropped(buffer, space="cuda:0"):
    """Whether nobody holds the copy at a device in place."""
    gc.collect()
    buffer.sync_to_host()
    try:
        buffer.discard(space)
    except unibuf.AccessConflictError:
        return False
    return True


def blocked(buffer, seconds=None):
    """Another thread that holds a write lease of the host until the event that it gives is set."""
    have, done = threading.Event(), threading.Event()

    def hold():
        with buffer.write("host") as array:
            array[:] = 1
            have.set()
            done.wait(seconds)

    thread = threading.Thread(target=hold)
    thread.start()
    have.wait()
    return thread, done
