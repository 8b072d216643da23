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


class _Stream:
    def __init__(self, ptr):
        self.ptr = ptr

    @classmethod
    def from_external(cls, stream):
        _, ptr = stream.__cuda_stream__()
        return cls(ptr)

    def synchronize(self):
        driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        driver.cuCtxPushCurrent_v2(context)
        failed = driver.cuStreamSynchronize(ctypes.c_void_p(self.ptr))
        driver.cuCtxPopCurrent_v2(ctypes.byref(context))
        if failed:
            raise RuntimeError(f"cuStreamSynchronize answered {failed}")

    def __enter__(self):
        self.before, cuda._current_stream = cuda._current_stream, self
        return self

    def __exit__(self, *_):
        cuda._current_stream = self.before


class cuda:
    Stream = _Stream

    class Device:
        def __init__(self, device=None):
            self.id = device or 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    class UnownedMemory:
        def __init__(self, ptr, size, owner, device_id=-1):
            self.ptr, self.size, self.owner, self.device_id = ptr, size, owner, device_id

    class MemoryPointer:
        def __init__(self, mem, offset):
            self.mem, self.offset, self.ptr = mem, offset, mem.ptr + offset

    _allocator = None

    @staticmethod
    def set_allocator(allocator=None):
        cuda._allocator = allocator

    @staticmethod
    def get_allocator():
        return cuda._allocator

    @staticmethod
    def get_current_stream():
        return cuda._current_stream

    _current_stream = _Stream(0)


class ndarray:
    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.shape, self.dtype = shape, numpy.dtype(dtype)
        self.nbytes = self.dtype.itemsize * int(numpy.prod(shape))
        self.data = memptr = memptr or cuda.get_allocator()(self.nbytes)
        self.device = cuda.Device(memptr.mem.device_id)
        self.strides = numpy.lib.stride_tricks.as_strided(numpy.empty(0, dtype), shape, strides).strides
        reach = sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))
        size = reach + self.dtype.itemsize if self.nbytes else 0  # from the first element to the last
        space = (ctypes.c_char * size).from_address(_address(memptr.ptr)) if size else b""
        self._bytes = numpy.ndarray(shape, dtype, space, strides=strides)

    def get(self):
        return self._bytes.copy()

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.data.ptr if self.nbytes else 0, False),
            "strides": self.strides,
            "version": 3,
            "stream": 1,
        }

    def __getitem__(self, key):
        return self._bytes[key]

    def __setitem__(self, key, value):
        self._bytes[key] = value._bytes if isinstance(value, ndarray) else value

    def __iadd__(self, value):
        self._bytes += value
        return self


def asarray(of):
    if isinstance(of, ndarray):
        return of
    found = of.__cuda_array_interface__
    size = int(numpy.prod(found["shape"])) * numpy.dtype(found["typestr"]).itemsize
    memory = cuda.UnownedMemory(found["data"][0], size, of, 0)
    return ndarray(found["shape"], found["typestr"], cuda.MemoryPointer(memory, 0), found.get("strides"))


_TYPES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


def from_dlpack(of):
    capsule = of.__dlpack__(stream=1)
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = _Tensor.from_address(pointer(capsule, b"dltensor"))
    shape = tuple(tensor.shape[: tensor.ndim])
    dtype = numpy.dtype(f"{_TYPES[tensor.code]}{tensor.bits // 8}")
    memory = cuda.UnownedMemory(tensor.data, int(numpy.prod(shape)) * dtype.itemsize, capsule, tensor.device_id)
    return ndarray(shape, dtype, cuda.MemoryPointer(memory, tensor.byte_offset))
