"""Threads that share one object: blocks, holds, arrays and names. What holds without the interpreter's lock holds with
it, too, as calls let go of it."""

import copy
import gc
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer, _native

N = 5000


def in_threads(*calls):
    """Begins them together, and raises what one of them raises."""
    together = threading.Barrier(len(calls))

    def begin(call):
        together.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [each.result() for each in [threads.submit(begin, call) for call in calls]]


def outcome(call):
    """Returns what it returns, or the error of this package that it raises."""
    try:
        return call()
    except unibuf.UnibufError as failure:
        return failure


@pytest.fixture
def switches_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


# Blocks


@pytest.mark.parametrize("what", ["read", "read_write"])
def test_a_weak_reference_may_bring_back_the_array_of_a_block_that_ends(what):
    buffer, kept = UnifiedBuffer(N).fill(7), []
    with buffer.bound("debug:0", pause=lambda: None, resume=lambda: kept.append(weak())):
        block = getattr(buffer, what)("host")
        weak = weakref.ref(block.__enter__())
        block.__exit__()
    held = unibuf.get_accelerator("host").memory.held
    buffer.free()
    assert len(kept) == 1
    if kept[0] is not None:  # then its memory is there, stale, as the device may write
        assert held - unibuf.get_accelerator("host").memory.held < buffer.nbytes


def test_one_thread_enters_a_block(switches_often):
    buffer = UnifiedBuffer(N)

    def enter(block):
        return outcome(block.__enter__), buffer.state

    for _ in range(200):
        block = buffer.read_write("host")
        found = [each for each, _ in in_threads(*[lambda block=block: enter(block)] * 4)]
        assert sum(isinstance(each, np.ndarray) for each in found) == 1
        found.clear()
        block.__exit__()
    with buffer.write("host", timeout=0):
        pass


def test_a_block_is_left_on_another_thread():
    buffer = UnifiedBuffer(N).fill(0)
    memory = unibuf.get_accelerator("host").memory.held
    with ThreadPoolExecutor(1) as other:
        for i in range(50):
            block = buffer.write("host")
            other.submit(lambda block=block, i=i: block.__enter__().fill(i)).result()
            block.__exit__()
            assert (buffer.to_numpy() == i).all()
    assert unibuf.get_accelerator("host").memory.held == memory


# Arrays


def test_copies_are_of_one_moment():
    buffer, done = UnifiedBuffer(1 << 20).fill(0), threading.Event()

    def fill():
        for i in range(200):
            buffer.fill(i)
        done.set()

    def copies():
        while not done.is_set():
            content = copy.copy(buffer).to_numpy()
            assert (content == content[0]).all()

    in_threads(fill, copies)


@pytest.mark.parametrize("then", ["share", "discard_content"])
def test_arrays_that_another_thread_has_made_are_not_held_when_they_are_dropped(then):
    buffer = UnifiedBuffer(N)
    with ThreadPoolExecutor(1) as other:
        array = other.submit(lambda: buffer.host).result()
        array[:] = 1
        del array
        getattr(buffer, then)()  # while the other thread waits for work


# Standing holds


def test_a_hold_that_was_not_made_is_collected():
    cycle = [_native.StandingHold.__new__(_native.StandingHold), _native.Access.__new__(_native.Access)]
    cycle.append(cycle)
    del cycle
    gc.collect()


def test_threads_use_a_hold_that_one_of_them_ends(switches_often):
    buffer = UnifiedBuffer(N)

    def use(hold):
        for _ in range(5):
            for call in (lambda: hold.array, lambda: hold.memory, hold.pause, hold.resume):
                outcome(call)

    for i in range(150):
        hold = buffer.bound("debug:0", told=bool(i % 2), pause=lambda: None, resume=lambda: None)
        ends = [lambda hold=hold: outcome(hold.__enter__), lambda hold=hold: outcome(hold.__exit__)]
        in_threads(*ends, lambda hold=hold: use(hold), lambda hold=hold: use(hold))
        hold.__exit__()
    with buffer.write("host", timeout=0) as array:
        array[:] = 1


def test_functions_of_a_hold_wait_for_threads_that_use_it():
    """The one that is to be quiet may be inside a call of the hold or the buffer: nobody keeps it there."""
    buffer = UnifiedBuffer(N).fill(1)
    asked, quiet, done = threading.Event(), threading.Event(), threading.Event()

    def pause():
        asked.set()
        while not quiet.is_set():  # and does not sleep
            pass

    def resume():
        asked.clear()

    def work(hold):
        while not done.is_set():
            quiet.clear()
            while not asked.is_set() and not done.is_set():
                assert hold.memory.nbytes == buffer.nbytes
            quiet.set()
            while asked.is_set() and not done.is_set():
                pass

    with buffer.bound("debug:0", pause=pause, resume=resume) as hold:
        thread = threading.Thread(target=work, args=(hold,), daemon=True)
        thread.start()
        for _ in range(5):
            with buffer.read("host") as array:
                assert array[3] == 1
            hold.pause()
            hold.resume()
        done.set()
        thread.join()


# Names


def test_dtypes_of_names_stay_while_others_add_names():
    registry, dtype = unibuf.Registry(), np.dtype([("a", "i4"), ("b", "f8")])

    def add(first):
        kept = []
        for i in range(first, first + 400):
            buffer = UnifiedBuffer(3, dtype)
            registry.add(f"free threading {i}", buffer)
            kept.append(buffer)
            if i % 4:
                kept.pop()
        return kept

    kept = in_threads(*[lambda first=first: add(first) for first in range(0, 1600, 400)])
    for thread, buffers in enumerate(kept):
        for i, buffer in enumerate(buffers):
            found = unibuf.Registry()[f"free threading {thread * 400 + 4 * i}"]  # which knows no objects
            assert found.id == buffer.id and found.dtype == dtype


def test_who_sets_a_name_takes_it_from_others():
    registry, buffers = unibuf.Registry(), [UnifiedBuffer(3) for _ in range(4)]

    def take(buffer):
        for _ in range(300):
            registry["one name"] = buffer

    in_threads(*[lambda each=each: take(each) for each in buffers])
    assert registry["one name"].id in [each.id for each in buffers]
    del registry["one name"]
