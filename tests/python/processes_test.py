"""A buffer that was shared stays shared where multiprocessing sends it; any other buffer is copied."""

import gc
import multiprocessing
import os
import pickle
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory that processes share is a memfd")

N = 10_000
METHODS = ["spawn", "forkserver"]


class Picture(UnifiedBuffer):
    """Made from UnifiedBuffer, to see that the class is kept."""


@pytest.fixture(scope="module", params=METHODS)
def context(request):
    return multiprocessing.get_context(request.param)


@pytest.fixture
def shared():
    buffer = UnifiedBuffer((N,)).fill(1)
    buffer.share()
    return buffer


def in_process(context, function, *arguments):
    process = context.Process(target=function, args=arguments)
    process.start()
    process.join(60)
    assert process.exitcode == 0


def memory_files():
    gc.collect()
    return sorted(
        os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink() and is_memory(each)
    )


def is_memory(path):
    try:
        return "memfd:unibuf" in os.readlink(path)
    except OSError:
        return False


def eventually(condition):
    end = time.monotonic() + 30
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


# What children do


def set_first(value, *buffers):
    for buffer in buffers:
        buffer.host[0] = value


def answer(requests, answers):
    """Sends back what each buffer that arrives is, and its sum, and sets its first element."""
    while (buffer := requests.get()) is not None:
        answers.put(
            (type(buffer).__name__, vars(buffer) if hasattr(buffer, "__dict__") else {}, float(buffer.host.sum()))
        )
        buffer.host[0] = 7
        del buffer


def give(queue, stay):
    buffer = UnifiedBuffer((N,)).fill(3)
    buffer.share()
    queue.put(buffer)
    del buffer
    if stay is not None:
        stay.wait(60)


def pass_on(buffer):
    in_process(multiprocessing.get_context("spawn"), set_first, 9, buffer)


def set_and_sum(buffer):
    buffer.host[0] = 7
    return float(buffer.host.sum())


@pytest.fixture
def child(context):
    """Answers, in another process."""
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(requests, answers))
    process.start()

    def ask(buffer):
        requests.put(buffer)
        return answers.get(timeout=60)

    ask.requests, ask.answers = requests, answers
    yield ask
    requests.put(None)
    process.join(60)
    assert process.exitcode == 0


# Arguments


def test_an_argument_stays_shared(context, shared):
    in_process(context, set_first, 5, shared)
    assert shared.host[0] == 5 and shared.host[1] == 1


def test_what_was_not_shared_is_copied(context, shared):
    buffer = UnifiedBuffer((N,)).fill(1)
    in_process(context, set_first, 5, buffer, shared.view(0, 10))
    assert buffer.host[0] == 1 and shared.host[0] == 1


def test_the_sender_may_drop_it(context):
    parent_end, child_end = context.Pipe()
    buffer = UnifiedBuffer((N,)).fill(2)
    buffer.share()
    process = context.Process(target=wait_and_sum, args=(child_end, buffer))
    process.start()
    del buffer
    eventually(lambda: not memory_files())  # the child has it, and this process no more
    parent_end.send("go on")
    assert parent_end.poll(60) and parent_end.recv() == 2 * N
    process.join(60)


def wait_and_sum(pipe, buffer):
    pipe.recv()
    pipe.send(float(buffer.host.sum()))


def test_two_handles_in_one_message(context, shared):
    in_process(context, set_first, 5, shared, unibuf.attach(shared.share()))
    assert shared.host[0] == 5


def test_who_attached_passes_it_on(shared):
    in_process(multiprocessing.get_context("forkserver"), pass_on, shared)
    assert shared.host[0] == 9


# Queues, pipes, pools


def test_a_queue_keeps_it_shared(child, shared):
    assert child(shared) == ("UnifiedBuffer", {}, N)
    eventually(lambda: shared.host[0] == 7)
    assert child(UnifiedBuffer((N,)).fill(2)) == ("UnifiedBuffer", {}, 2 * N)
    assert child(shared) == ("UnifiedBuffer", {}, N + 6)


def test_the_class_and_its_attributes(child):
    picture = Picture((4, 4)).fill(1)
    picture.name = "a picture"
    picture.share()
    assert child(picture) == ("Picture", {"name": "a picture"}, 16)
    eventually(lambda: picture.host[0, 0] == 7)


def test_what_was_put_may_be_dropped_and_leaves_nothing(child):
    for number in range(20):
        buffer = UnifiedBuffer((N,)).fill(number)
        buffer.share()
        child.requests.put(buffer)
        del buffer
    assert [child.answers.get(timeout=60)[2] for _ in range(20)] == [number * N for number in range(20)]
    eventually(lambda: not memory_files())


def test_content_that_a_device_has_goes_along(child, shared, default_device):
    default_device("debug:0")
    array = shared.device
    array += 1
    shared.mark_device_dirty()
    assert child(shared)[2] == 2 * N


def test_a_buffer_that_was_freed_is_copied(child, shared):
    shared.free()
    assert child(shared.fill(4))[2] == 4 * N
    child(UnifiedBuffer(1))  # it has set the first element of what came before
    assert shared.host[0] == 4
    shared.share()
    child(shared)
    eventually(lambda: shared.host[0] == 7)


def test_from_a_child(context):
    queue, stay = context.Queue(), context.Event()
    process = context.Process(target=give, args=(queue, stay))
    process.start()
    buffer = queue.get(timeout=60)
    stay.set()
    process.join(60)
    assert buffer.host.sum() == 3 * N
    assert unibuf.attach(buffer.share()).id == buffer.id


def test_a_sender_that_has_ended_is_told_of(context):
    queue = context.Queue()
    in_process(context, give, queue, None)
    with pytest.raises(unibuf.TransferFailedError, match="the process that sent it has ended"):
        queue.get(timeout=60)


def test_pools_of_processes(context, shared):
    with context.Pool(1) as pool:
        assert pool.map(set_and_sum, [shared]) == [N + 6]
    assert shared.host[0] == 7
    shared.host[0] = 1
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(set_and_sum, [shared])) == [N + 6]
    assert shared.host[0] == 7


# Elsewhere


def test_pickles_have_the_content(shared):
    back = pickle.loads(pickle.dumps(shared))
    back.host[0] = 9
    assert shared.host[0] == 1 and back.host[1] == 1


def test_in_one_process_it_is_the_same_buffer(shared):
    ours, theirs = multiprocessing.Pipe()
    ours.send(shared)
    back = theirs.recv()
    assert back.id == shared.id
    back.host[0] = 9
    assert shared.host[0] == 9


def test_newer_content_of_another_process_is_in_no_ones_way(shared):
    """It is shared, not read: who reads it is told."""
    ours, theirs = multiprocessing.Pipe()
    queue = multiprocessing.get_context("spawn").Queue()
    process = multiprocessing.get_context("spawn").Process(target=newest_at_device, args=(shared, queue, theirs))
    process.start()
    queue.get(timeout=60)
    one, other = multiprocessing.Pipe()
    one.send(shared)
    back = other.recv()
    with pytest.raises(unibuf.AccessConflictError):
        _ = back.host
    ours.send(None)
    process.join(60)


def newest_at_device(buffer, queue, pipe):
    unibuf.set_default_device("debug:0")
    buffer.device[:] = 2
    buffer.mark_device_dirty()
    queue.put("done")
    pipe.recv()
    buffer.sync_to_host()


def test_buffers_that_are_gone_are_forgotten():
    from unibuf import _shared

    for _ in range(1000):
        UnifiedBuffer(1).share()
    assert len(_shared._files) < 300


def test_the_array_is_as_it_was(shared):
    assert np.array_equal(shared.to_numpy(), np.ones(N, np.float32))
