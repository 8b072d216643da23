"""Messages that name buffers, in compat/pydotcompute."""

import asyncio
from dataclasses import dataclass

import numpy as np
import pydotcompute
import pytest
import unibuf
from pydotcompute import Runtime, UnifiedBuffer, message
from pydotcompute.exceptions import MessageError, ProcessorNotFoundError


@message
@dataclass
class Request:
    buffer_id: str
    offset: int
    size: int


@message
class Plain:
    value: int


def test_a_processor_resolves_the_buffer_that_a_message_names():
    buffers = {"numbers": UnifiedBuffer((10,)).copy_from(np.arange(10, dtype=np.float32))}
    seen = []

    async def program():
        async with Runtime(buffers) as runtime:

            @runtime.processor("processor")
            async def process(request):
                part = runtime.resolve(request)
                await part.ensure_on_device()
                part.host[:] *= 2
                seen.append(part.to_numpy().tolist())

            await runtime.send("processor", Request("numbers", 2, 3))
            await runtime.send("processor", Request("numbers", 0, 1))

    asyncio.run(program())
    assert seen == [[4, 6, 8], [0]]
    assert buffers["numbers"].to_numpy().tolist() == [0, 1, 4, 6, 8, 5, 6, 7, 8, 9]


def test_ids_are_names_of_the_registry_where_nothing_else_is_given():
    buffer = UnifiedBuffer((5,)).fill(1)
    unibuf.registry["five"] = buffer
    assert Runtime().resolve(Request("five", 1, 2)).shape == (2,)
    del unibuf.registry["five"]
    with pytest.raises(KeyError):
        Runtime().resolve(Request("five", 1, 2))


def test_a_full_queue_makes_the_sender_wait():
    order = []

    async def program():
        async with Runtime(queue_size=1) as runtime:

            @runtime.processor("slow")
            async def process(request):
                order.append(f"begin {request.value}")
                await asyncio.sleep(0)
                order.append(f"end {request.value}")

            for value in range(3):
                await runtime.send("slow", Plain(value))
                order.append(f"sent {value}")

    asyncio.run(program())
    assert order.index("sent 2") > order.index("end 0")
    assert [each for each in order if each.startswith("end")] == ["end 0", "end 1", "end 2"]


def test_errors_of_a_processor_are_raised_to_who_waits():
    async def program():
        async with Runtime() as runtime:

            @runtime.processor("broken")
            async def process(request):
                raise ZeroDivisionError(request.value)

            await runtime.send("broken", Plain(1))

    with pytest.raises(ZeroDivisionError):
        asyncio.run(program())


def test_what_is_no_message_is_refused():
    @message
    @dataclass
    class Heavy:
        data: object

    async def program(request):
        async with Runtime() as runtime:

            @runtime.processor("any")
            async def process(request):
                pass

            await runtime.send("any", request)

    for request, why in ((Heavy(np.zeros(3)), "carries an array"), (Heavy(UnifiedBuffer((3,))), "carries an array"),
                         (object(), "is no message")):  # fmt: skip
        with pytest.raises(MessageError, match=why):
            asyncio.run(program(request))


def test_a_message_made_from_another_has_the_fields_of_both():
    @message
    class More(Plain):
        size: int

    assert More(1, 2) == More(value=1, size=2)


def test_nobody_is_there():
    with pytest.raises(ProcessorNotFoundError, match="nobody"):
        asyncio.run(Runtime().send("nobody", Plain(1)))


def test_the_names_are_those_of_unibuf():
    assert pydotcompute.UnifiedBuffer is unibuf.UnifiedBuffer
    assert pydotcompute.get_accelerator() == unibuf.get_accelerator()
    from pydotcompute.core.unified_buffer import BufferState

    assert BufferState is unibuf.BufferState


def test_a_name_has_one_processor():
    async def program():
        async with Runtime() as runtime:
            for _ in range(2):

                @runtime.processor("one")
                async def process(request):
                    pass

    with pytest.raises(unibuf.InvalidArgumentError, match="already"):
        asyncio.run(program())


def test_a_processor_that_is_cancelled_by_its_own_work_stops_nobody():
    async def program():
        async with Runtime() as runtime:

            @runtime.processor("cancelled")
            async def process(request):
                raise asyncio.CancelledError

            await runtime.send("cancelled", Plain(1))
            await asyncio.wait_for(runtime.join(), 10)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(program())
