"""Named asyncio tasks that process messages, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from unibuf import InvalidArgumentError, UnifiedBuffer, registry

from .exceptions import ProcessorNotFoundError
from .messages import check

Handler = Callable[[Any], Awaitable[None]]


class Runtime:
    """Processors by name, and a queue for each.

        async with Runtime(buffers) as runtime:

            @runtime.processor("processor")
            async def process(request):
                part = runtime.resolve(request)

            await runtime.send("processor", ProcessRequest(buffer_id=..., offset=0, size=1000))

    Leaving the block waits until all that was sent has been processed, and raises the first error of a processor.
    """

    def __init__(self, buffers: Mapping[str, UnifiedBuffer[Any]] | None = None, *, queue_size: int = 1024) -> None:
        """`buffers`: where ids are looked up; unibuf.registry where none is given."""
        self._buffers: Any = registry if buffers is None else buffers
        self._queue_size = queue_size
        self._queues: dict[str, asyncio.Queue[Any]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None
        self._closing = False

    def processor(self, name: str) -> Callable[[Handler], Handler]:
        """Makes a coroutine function the one that processes what is sent to `name`."""

        def start(handler: Handler) -> Handler:
            if name in self._queues:
                raise InvalidArgumentError(f"there is a processor {name!r} already")
            queue: asyncio.Queue[Any] = asyncio.Queue(self._queue_size)
            self._queues[name] = queue
            self._tasks.append(asyncio.get_running_loop().create_task(self._serve(handler, queue)))
            return handler

        return start

    async def send(self, name: str, request: Any) -> None:
        """Returns when the processor's queue has taken it. Raises ProcessorNotFoundError, MessageError, and what a
        processor has raised."""
        check(request)
        queue = self._queues.get(name)
        if queue is None:
            raise ProcessorNotFoundError(f"there is no processor {name!r}; there are {sorted(self._queues)}")
        self._raise_failure()
        await queue.put(request)

    def resolve(self, request: Any) -> UnifiedBuffer[Any]:
        """The part of a buffer that a message names: `size` elements of the first axis of `buffer_id`, from `offset`.
        Raises KeyError."""
        buffer: UnifiedBuffer[Any] = self._buffers[request.buffer_id]
        return buffer.view(request.offset, request.size)

    async def join(self) -> None:
        """Waits until all that was sent has been processed."""
        for queue in self._queues.values():
            await queue.join()
        self._raise_failure()

    async def close(self) -> None:
        """Ends the processors; what they have not begun is dropped."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        self._queues.clear()
        self._closing = False

    async def __aenter__(self) -> Runtime:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                await self.join()
        finally:
            await self.close()

    async def _serve(self, handler: Handler, queue: asyncio.Queue[Any]) -> None:
        while True:
            request = await queue.get()
            try:
                await handler(request)
            except (Exception, asyncio.CancelledError) as failure:
                if self._closing:
                    raise
                self._failure = self._failure or failure
            finally:
                queue.task_done()

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
