"""Copies between a buffer and what PyOpenCL has: arrays, which say what they hold, and memory objects, which are bytes.

In a context that unibuf works in, the device copies; otherwise the bytes go through the host's copy, in one transfer.
The copy comes after all work that is on the array's queue, and has ended when it returns.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ._array_likes import bytes_of
from ._device_arrays import opencl_queues
from .errors import BufferNotAllocatedError, InvalidArgumentError, OutOfMemoryError, TransferFailedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Buffer = Any  # a UnifiedBuffer; its module needs this one


class OpenCLBytes:
    """The bytes of an array or a memory object, and the queue that they are copied on."""

    def __init__(self, memory: Any, array: Any = None) -> None:
        self._memory = memory
        self._array = array
        self._cl = import_module("pyopencl")
        if array is None and memory.get_info(self._cl.mem_info.TYPE) != self._cl.mem_object_type.BUFFER:
            raise TypeError(f"a {type(memory).__name__} of PyOpenCL has no one order of bytes: copy it by enqueue_copy")
        self._offset = 0 if array is None else array.offset
        self._nbytes = memory.get_info(self._cl.mem_info.SIZE) if array is None else array.nbytes
        self._space, self._queue = self._place()

    def copy_into(self, buffer: Buffer) -> None:
        self._check(buffer, "{} was to be copied into a buffer of {}")
        if self._array is not None:
            self._check_types(self._array.dtype, buffer.dtype)
        if not buffer.nbytes:
            return
        if not self._has_form_of(buffer) or not self._is_contiguous() or self._is_memory_of(buffer):
            buffer.copy_from(self._content(buffer))
        elif not self._copy_into_at_device(buffer):
            with buffer.write("host") as array:
                self._read(bytes_of(array), self._offset)
                del array

    def copy_out_of(self, buffer: Buffer) -> None:
        self._check(buffer, "a buffer of {1} was to be copied into {0}")
        if self._array is not None:
            self._check_types(buffer.dtype, self._array.dtype)
            if not self._is_contiguous():
                raise InvalidArgumentError(
                    f"a buffer was to be copied into an array of PyOpenCL with strides {self._array.strides}: it takes "
                    "one that is C-contiguous"
                )
        if not buffer.nbytes:
            return
        if not self._has_form_of(buffer) or self._is_memory_of(buffer):
            content = buffer.to_numpy()
            self._write(bytes_of(content if self._array is None else content.astype(self._array.dtype)))
        elif self._is_nearer_at_device(buffer):
            with buffer.read(self._space, stream=self._queue) as array:
                self._copy(array.base_data, array.offset, self._memory, self._offset)
                del array
        else:
            with buffer.read("host") as array:
                self._write(bytes_of(array))
                del array

    def _is_nearer_at_device(self, buffer: Buffer) -> bool:
        """Whether the content is there, and is to come from there."""
        if self._space is None:
            return False
        if buffer._options()["access"] == "write_only":  # the host may not read it
            return True
        at_host = buffer._is_current_at("host") and not buffer._is_current_at(self._space)
        return buffer.is_at(self._space) and not at_host

    def _copy_into_at_device(self, buffer: Buffer) -> bool:
        """False where the buffer can have no copy there."""
        if self._space is None:
            return False
        with ExitStack() as block:
            try:
                array = block.enter_context(buffer.write(self._space, stream=self._queue))
            except OutOfMemoryError:
                return False
            self._copy(self._memory, self._offset, array.base_data, array.offset)
            del array
        return True

    def _place(self) -> tuple[str | None, Any]:
        """The space of its context and unibuf's queue there; elsewhere None and a queue of its own."""
        its_queue = None if self._array is None else self._array.queue
        if self._memory is None:  # there are no bytes
            return None, its_queue
        context = self._memory.get_info(self._cl.mem_info.CONTEXT)
        for space, queue in list(opencl_queues.items()):  # other threads add some
            if queue.context == context and (its_queue is None or its_queue.device == queue.device):
                return space, queue
        return None, its_queue or self._cl.CommandQueue(context, context.devices[0])

    def _check(self, buffer: Buffer, words: str) -> None:
        if self._array is None:
            if self._nbytes != buffer.nbytes:
                its = f"a memory object of {self._nbytes} bytes"
                raise InvalidArgumentError(
                    words.format(its, f"{buffer.nbytes} bytes") + ": their sizes have to be equal"
                )
        elif self._array.shape != buffer.shape:
            raise InvalidArgumentError(words.format(f"an array of shape {self._array.shape}", buffer.shape))

    @staticmethod
    def _check_types(source: np.dtype[Any], target: np.dtype[Any]) -> None:
        if not np.can_cast(source, target, "same_kind"):
            raise TypeError(f"data of {source} cannot be cast to {target} within its kind (same_kind)")

    def _has_form_of(self, buffer: Buffer) -> bool:
        """Whether the elements are of one type, and follow each other in both."""
        return buffer._strides is None and (self._array is None or bool(self._array.dtype == buffer.dtype))

    def _is_contiguous(self) -> bool:
        return self._array is None or bool(self._array.flags.c_contiguous)

    def _is_memory_of(self, buffer: Buffer) -> bool:
        """Whether it may be a part of the buffer's own copy: to copy between parts that overlap is an error there."""
        if self._space is None:
            return False
        try:
            copy = buffer._hold_copy(self._space)
        except BufferNotAllocatedError:
            return False
        own = self._cl.MemoryObject.from_int_ptr(copy.handle, retain=True)
        return self._whole(own) == self._whole(self._memory)

    def _whole(self, memory: Any) -> int:
        """The memory object that this one is a part of."""
        while (parent := memory.get_info(self._cl.mem_info.ASSOCIATED_MEMOBJECT)) is not None:
            memory = parent
        return int(memory.int_ptr)

    def _content(self, buffer: Buffer) -> NDArray[Any]:
        """What it holds, in memory of the host."""
        if self._array is None:
            result = np.empty(buffer.shape, buffer.dtype)
            self._read(bytes_of(result), 0)
            return result
        ends = [(count - 1) * stride for count, stride in zip(self._array.shape, self._array.strides, strict=True)]
        begin = sum(end for end in ends if end < 0)
        data = np.empty(sum(end for end in ends if end > 0) - begin + self._array.dtype.itemsize, np.uint8)
        self._read(data, self._offset + begin)
        return np.ndarray(self._array.shape, self._array.dtype, data, -begin, self._array.strides)

    # Transfers

    def _before(self) -> list[Any]:
        """The work that they come after."""
        if self._array is None:
            return []
        result = list(self._array.events)
        if self._array.queue is not None:
            result.append(self._cl.enqueue_marker(self._array.queue))
            self._array.queue.flush()
        return result

    def _copy(self, source: Any, source_offset: int, target: Any, target_offset: int) -> None:
        offsets = {"src_offset": source_offset, "dst_offset": target_offset}
        self._enqueue(target, source, byte_count=self._nbytes, **offsets)

    def _read(self, target: NDArray[np.uint8], offset: int) -> None:
        self._enqueue(target, self._memory, src_offset=offset)

    def _write(self, source: NDArray[np.uint8]) -> None:
        self._enqueue(self._memory, source, dst_offset=self._offset)

    def _enqueue(self, target: Any, source: Any, **parts: int) -> None:
        try:
            self._cl.enqueue_copy(self._queue, target, source, wait_for=self._before(), **parts).wait()
        except self._cl.Error as failure:
            raise TransferFailedError(f"PyOpenCL could not copy {self._nbytes} bytes: {failure}") from failure


def opencl_bytes(of: Any) -> OpenCLBytes | None:
    """None for what is not of PyOpenCL, which is not imported for that."""
    cl = sys.modules.get("pyopencl")
    memory: Any = getattr(cl, "MemoryObjectHolder", None)
    array: Any = getattr(sys.modules.get("pyopencl.array"), "Array", None)
    if memory is not None and isinstance(of, memory):
        return OpenCLBytes(of)
    if array is not None and isinstance(of, array):
        if of.nbytes and not isinstance(of.base_data, memory):
            raise TypeError(
                "an array of PyOpenCL in shared virtual memory was given; one in a memory object is allowed, and what "
                "get() gives"
            )
        return OpenCLBytes(of.base_data, of)
    return None
