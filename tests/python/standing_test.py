"""Standing holds: a device that may write at any time, and tells nobody. It is debug:0, written through its memory."""

import gc
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

GPU = "debug:0"
N = 5000


@pytest.fixture
def buffer():
    return UnifiedBuffer(N, np.int32).fill(1)


def moved(buffer):
    return buffer.statistics.bytes_moved


def test_each_side_has_what_the_other_wrote_last(buffer):
    with buffer.bound(GPU) as hold:
        assert hold.array.shape == (N,) and hold.array is hold.array and (hold.array == 1).all()
        assert hold.memory.space == GPU and hold.memory.offset == 0 and hold.memory.nbytes == buffer.nbytes
        for value in (2, 3, 4):
            hold.array[100] = value
            before = moved(buffer)
            with buffer.read("host", offset=100, count=1) as got:
                assert got[0] == value
            assert moved(buffer) - before == 4
        with buffer.write("host", offset=200, count=2) as part:
            part[:] = 9
        assert hold.array[199:203].tolist() == [1, 9, 9, 1]
        hold.array[300] = 7
    assert buffer.to_numpy()[300] == 7


def test_a_part_that_opens_when_it_is_told():
    buffer = UnifiedBuffer((10, 500), np.float32).fill(1)
    with buffer.bound(GPU, offset=1000, count=500, told=True) as hold:
        assert hold.array.shape == (500,) and hold.memory.offset == 4000
        hold.array[3] = 2
        assert buffer.to_numpy()[2, 3] == 2
        before = moved(buffer)
        assert buffer.to_numpy()[2, 3] == 2 and moved(buffer) == before
        buffer.copy_from(np.full((10, 500), 6, np.float32))
        hold.resume()
        assert (hold.array == 6).all()
        hold.array[:] = 7
        hold.pause()
        assert (buffer.to_numpy()[2] == 7).all() and (buffer.to_numpy()[3] == 6).all()
        hold.resume()


def test_to_read_it_shows_what_the_host_writes(buffer):
    with buffer.bound(GPU, access="read") as hold:
        buffer.host[5] = 8
        hold.resume()
        assert hold.array[5] == 8 and not hold.array.flags.writeable


def test_a_holder_is_asked_to_pause(buffer):
    calls = []
    with buffer.bound(GPU, pause=lambda: calls.append("pause"), resume=lambda: calls.append("resume")) as hold:
        assert calls == []
        hold.array[0] = 2
        assert buffer.to_numpy()[0] == 2
        assert calls == ["pause", "resume"]
        hold.pause()
        assert calls == ["pause", "resume", "pause"]
        hold.resume()
        assert calls == ["pause", "resume", "pause", "resume"]


def test_an_array_that_goes_with_an_exception_gives_its_bytes_back(buffer):
    calls = []
    with buffer.bound(GPU, pause=lambda: calls.append("pause"), resume=lambda: calls.append("resume")):
        with pytest.raises(NameError, match="nothing_of_this_name"):
            _ = buffer.host + nothing_of_this_name  # noqa: F821
        assert calls == ["pause", "resume"]
        assert buffer.to_numpy()[0] == 1


class Busy(Exception):
    pass


ACCESSES = {
    "read": lambda b: b.read("host").__enter__(),
    "host": lambda b: b.host,
    "to_numpy": lambda b: b.to_numpy(),
    "copy_from": lambda b: b.copy_from(np.zeros(N, np.int32)),
    "sync": lambda b: b.sync_to_host(),
    "prefetch": lambda b: b.prefetch("host"),
    "mark": lambda b: b.mark_host_dirty(),
    "view": lambda b: b.view(0, 10).to_numpy(),
}


@pytest.mark.parametrize("access", ACCESSES)
def test_what_pause_raises_the_access_raises(buffer, access):
    failure = Busy("the shader goes on")
    refuses = True

    def pause():
        if refuses:
            raise failure

    buffer.host  # noqa: B018  # so that there is a copy to mark
    buffer.sync_to_host()
    with buffer.bound(GPU, pause=pause, told=True) as hold:
        hold.resume()
        hold.array[0] = 2
        with pytest.raises(Busy) as raised:
            ACCESSES[access](buffer)
        assert raised.value is failure
        refuses = False
        assert buffer.to_numpy()[0] == 2


def test_what_pause_raises_on_the_holds_own_call(buffer):
    def interrupt():
        raise KeyboardInterrupt

    with buffer.bound(GPU, pause=interrupt) as hold, pytest.raises(KeyboardInterrupt):
        hold.pause()


def test_what_resume_raises(buffer):
    raises = True

    def resume():
        if raises:
            raise Busy("stuck")

    with buffer.bound(GPU, pause=lambda: None, resume=resume) as hold:
        hold.array[0] = 2
        assert buffer.to_numpy()[0] == 2  # it has its bytes, and nobody could be told
        with pytest.raises(unibuf.TransferFailedError, match="stuck"):
            buffer.to_numpy()
        hold.pause()
        with pytest.raises(Busy, match="stuck"):
            hold.resume()
        raises = False
        assert buffer.to_numpy()[0] == 2  # its owner has been told
        hold.pause()
        hold.resume()


def test_accesses_of_many_threads_and_a_device_that_writes_all_the_time(buffer):
    turn, ends = threading.Lock(), threading.Event()
    threads = 4

    def write(array):
        value = 0
        while not ends.is_set():
            value += 1
            with turn:
                array[:] = value

    def read(_):
        for _ in range(50):
            got = buffer.to_numpy()
            assert (got == got[0]).all()
            assert buffer.placement(GPU) and buffer.statistics and buffer.state  # with the interpreter's lock

    with buffer.bound(GPU, pause=turn.acquire, resume=turn.release) as hold:
        device = threading.Thread(target=write, args=(hold.array,))
        device.start()
        try:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(read, range(threads)))
        finally:
            ends.set()
            device.join()
        assert (buffer.to_numpy() == hold.array[0]).all()


def test_a_hold_may_end_while_it_is_asked_to_pause(buffer):
    def pause():
        hold.array[0] = 5
        hold.__exit__()

    hold = buffer.bound(GPU, pause=pause).__enter__()
    assert buffer.to_numpy()[0] == 5
    with pytest.raises(unibuf.InvalidArgumentError, match="outside"):
        _ = hold.array
    hold = buffer.bound(GPU, pause=pause).__enter__()
    hold.pause()  # of its own: it ends after the call
    with pytest.raises(unibuf.InvalidArgumentError, match="outside"):
        hold.resume()
    hold = buffer.bound(GPU, pause=lambda: hold.resume()).__enter__()
    with pytest.raises(unibuf.AccessConflictError, match="under way"):
        hold.pause()
    hold.__exit__()


def test_arrays_outlive_their_hold(buffer):
    with buffer.bound(GPU) as hold:
        left = hold.array
    assert not left.flags.writeable and (left == 1).all()
    with pytest.raises(unibuf.AccessConflictError):
        buffer.discard(GPU)
    del left
    buffer.sync_to_host()
    buffer.discard(GPU)


def test_a_hold_keeps_its_buffer_and_no_longer():
    buffer = UnifiedBuffer(N, np.int32).fill(1)  # not the fixture, which pytest keeps
    hold = buffer.bound(GPU, pause=lambda: None).__enter__()
    gone = weakref.ref(buffer)
    del buffer
    assert (hold.array == 1).all()
    hold.__exit__()
    del hold
    gc.collect()
    assert gone() is None


def test_a_hold_in_a_circle_is_collected(buffer):
    class Device:
        def pause(self):
            self.paused = True

    device = Device()
    device.hold = buffer.bound(GPU, pause=device.pause).__enter__()
    gone = weakref.ref(device)
    del device
    gc.collect()
    assert gone() is None
    buffer.sync_to_host()
    buffer.discard(GPU)  # the hold has ended


def test_bad_input(buffer):
    invalid, outside = unibuf.InvalidArgumentError, unibuf.OutOfRangeError
    for error, call in [
        (invalid, lambda: buffer.bound("host").__enter__()),
        (invalid, lambda: buffer.bound(GPU, access="write")),
        (invalid, lambda: buffer.bound(GPU, access="")),
        (invalid, lambda: buffer.bound("nonsense")),
        (invalid, lambda: buffer.bound(GPU, timeout=-1)),
        (outside, lambda: buffer.bound(GPU, offset=-1)),
        (outside, lambda: buffer.bound(GPU, offset=N + 1).__enter__()),
        (outside, lambda: buffer.bound(GPU, count=N + 1).__enter__()),
        (TypeError, lambda: buffer.bound(GPU, pause=3)),
        (TypeError, lambda: buffer.bound(GPU, resume="now")),
        (TypeError, lambda: buffer.bound(GPU, access=None)),
        (TypeError, lambda: buffer.bound(GPU, told="yes")),
    ]:
        with pytest.raises(error):
            call()
    hold = buffer.bound(GPU)
    for use in (lambda: hold.array, lambda: hold.memory, hold.pause, hold.resume):
        with pytest.raises(invalid, match="outside"):
            use()
    with hold, pytest.raises(invalid, match="once"):
        hold.__enter__()
    with pytest.raises(invalid, match="once"):
        hold.__enter__()
    with buffer.write("host"), pytest.raises(unibuf.AccessConflictError):
        buffer.bound(GPU).__enter__()
    assert (buffer.host == buffer.to_numpy()).all()
