"""A test double of CuPy: arrays over the memory of the CUDA driver's own double, which the host can see."""

import ctypes

import numpy


class _Control(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_void_p)
        for name in (
            "reset",
            "fail",
            "lose",
            "limit_device_memory",
            "limit_pinned_memory",
            "calls",
            "bytes",
            "allocations",
        )
    ] + [("address", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint64))]


def _address(pointer):
    driver = ctypes.CDLL("libcuda.so.1")
    driver.unibuf_cuda_double_control.restype = ctypes.POINTER(_Control)
    return driver.unibuf_cuda_double_control().contents.address(pointer)


class cuda:
    class UnownedMemory:
        def __init__(self, ptr, size, owner, device_id=-1):
            self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id

    class MemoryPointer:
        def __init__(self, mem, offset):
            self.mem, self.offset, self.ptr = mem, offset, mem.ptr + offset


class ndarray:
    def __init__(self, shape, dtype=float, memptr=None):
        self.shape, self.dtype, self.data = shape, numpy.dtype(dtype), memptr
        self.nbytes = self.dtype.itemsize * int(numpy.prod(shape))
        space = (ctypes.c_char * self.nbytes).from_address(_address(memptr.ptr)) if self.nbytes else b""
        self._bytes = numpy.ndarray(shape, dtype, space)

    def get(self):
        return self._bytes.copy()

    def __getitem__(self, key):
        return self._bytes[key]

    def __setitem__(self, key, value):
        self._bytes[key] = value

    def __iadd__(self, value):
        self._bytes += value
        return self


def asarray(of):
    found = of.__cuda_array_interface__
    memory = cuda.UnownedMemory(found["data"][0], of.nbytes, of)
    return ndarray(found["shape"], found["typestr"], cuda.MemoryPointer(memory, 0))
