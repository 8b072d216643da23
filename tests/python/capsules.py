"""DLPack capsules, read as their specification lays them out."""

import ctypes


class Tensor(ctypes.Structure):
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


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    NAME = b"dltensor"
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", DELETER)]


class ManagedVersioned(ctypes.Structure):
    NAME = b"dltensor_versioned"
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", DELETER),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


def capsule_call(name, result, *arguments):
    call = getattr(ctypes.pythonapi, name)
    call.restype, call.argtypes = result, [ctypes.py_object, *arguments]
    return call


name_of = capsule_call("PyCapsule_GetName", ctypes.c_char_p)
pointer_of = capsule_call("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_char_p)
rename = capsule_call("PyCapsule_SetName", ctypes.c_int, ctypes.c_char_p)


def managed(capsule):
    kind = {each.NAME: each for each in (Managed, ManagedVersioned)}[name_of(capsule)]
    result = kind.from_address(pointer_of(capsule, kind.NAME))
    result.capsule = capsule  # lives as long as what is looked at
    return result
