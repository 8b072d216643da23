"""A CUDA stream whose work waits until the test lets it go on."""

import ctypes
import threading


class Driver:
    """Work on a stream that is held back until open() is called."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        self("cuInit", 0)
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self("cuCtxPushCurrent_v2", context)
        made = ctypes.c_void_p()
        self("cuStreamCreate", ctypes.byref(made), 1)
        self.stream = made.value
        self.opened = threading.Event()
        self.ran_late = False  # nobody opened it
        self.wait = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.hold)

    def __call__(self, name, *arguments):
        assert getattr(self.library, name)(*arguments) == 0, name

    def __cuda_stream__(self):
        return 0, self.stream

    def hold(self, _):
        self.ran_late = not self.opened.wait(10)

    def set_later(self, address, value, count):
        stream = ctypes.c_void_p(self.stream)
        self("cuLaunchHostFunc", stream, self.wait, None)
        bits = ctypes.c_uint.from_buffer_copy(ctypes.c_float(value))
        self("cuMemsetD32Async", ctypes.c_uint64(address), bits, ctypes.c_size_t(count), stream)

    def close(self):
        self.opened.set()
        popped = ctypes.c_void_p()
        self("cuCtxPopCurrent_v2", ctypes.byref(popped))
