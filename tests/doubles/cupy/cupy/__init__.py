"""A test double of CuPy: arrays over the memory of the CUDA driver's own double, which the host can see. In NumPy's
functions its arrays follow the rules of CuPy (cupy/_core/core.pyx), which refuses memory of the host."""

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


def _call(name, *arguments):
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    driver.cuCtxPushCurrent_v2(context)
    failed = getattr(driver, name)(*arguments)
    driver.cuCtxPopCurrent_v2(ctypes.byref(context))
    if failed:
        raise RuntimeError(f"{name} answered {failed}")


class _Stream:
    def __init__(self, ptr):
        self.ptr = ptr

    @classmethod
    def from_external(cls, stream):
        _, ptr = stream.__cuda_stream__()
        return cls(ptr)

    def synchronize(self):
        _call("cuStreamSynchronize", ctypes.c_void_p(self.ptr))

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

    class Memory:
        def __init__(self, size):
            address = ctypes.c_uint64()
            _call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
            self.ptr, self.size, self.device_id = address.value, size, 0

        def __del__(self):
            _call("cuMemFree_v2", ctypes.c_uint64(self.ptr))

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


def _allocated(nbytes):
    return cuda.MemoryPointer(cuda.Memory(max(nbytes, 1)), 0)


class ndarray:
    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.shape, self.dtype = shape, numpy.dtype(dtype)
        self.nbytes = self.dtype.itemsize * int(numpy.prod(shape))
        self.data = memptr = memptr or (cuda.get_allocator() or _allocated)(self.nbytes)
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

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        if out and len(out) != 1:
            raise ValueError("The 'out' parameter must have exactly one array value")
        if method != "__call__" or not _has(ufunc.__name__):
            return NotImplemented
        for each in (*inputs, *out):
            if not isinstance(each, _TAKEN) and not hasattr(each, "__cuda_array_interface__"):
                return NotImplemented
        if out:
            options["out"] = out[0]
        return _computed(ufunc, inputs, options)

    def __array_function__(self, function, types, arguments, options):
        if not _has(function.__name__) or any(each not in (ndarray, numpy.ndarray) for each in types):
            return NotImplemented
        return _computed(function, arguments, options)

    def __getitem__(self, key):
        return self._bytes[key]

    def __setitem__(self, key, value):
        self._bytes[key] = value._bytes if isinstance(value, ndarray) else value

    def __iadd__(self, value):
        self._bytes += value
        return self


_TAKEN = (bool, int, float, complex, numpy.generic, numpy.ndarray)  # those of numpy.ndarray are refused in words
_OF_SEQUENCES = ("concatenate", "hstack", "stack", "vstack")
_MISSING = ("insert",)  # of NumPy's functions


def _has(name):
    return hasattr(numpy, name) and name not in _MISSING


def __getattr__(name):
    if name.startswith("_") or not _has(name):
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    return lambda *arguments, **options: _computed(getattr(numpy, name), arguments, options)


def _computed(function, arguments, options):
    """What NumPy's function gives, in memory of the device, behind what is on the current stream."""
    cuda.get_current_stream().synchronize()
    if function.__name__ in _OF_SEQUENCES:
        shown = [[_shown(each) for each in arguments[0]], *map(_shown, arguments[1:])]
    else:
        shown = [_shown(each) for each in arguments]
    result = function(*shown, **{name: _shown(each) for name, each in options.items()})
    if options.get("out") is not None:
        return options["out"]
    return tuple(map(_made_of, result)) if isinstance(result, tuple) else _made_of(result)


def _shown(argument):
    if isinstance(argument, numpy.ndarray):
        raise TypeError(f"Unsupported type {type(argument)}")
    if isinstance(argument, list):
        raise TypeError("Argument has incorrect type (expected cupy.ndarray, got list)")
    return argument._bytes if isinstance(argument, ndarray) else argument


def _made_of(values):
    made = ndarray(numpy.shape(values), numpy.asarray(values).dtype)
    made._bytes[...] = values
    return made


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
