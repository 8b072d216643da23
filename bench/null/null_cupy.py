"""null_cupy: the real CuPy without a card. Imported before `cupy`, it puts functions that call the null driver in the
place of CuPy's own that call CUDA's runtime, and compiles no kernel, so that nothing is computed or moved: what a
program takes then is CuPy's own processor time.

LD_LIBRARY_PATH has to name the folder of the null driver, build/release/bench/null.
"""

import ctypes
import importlib.util
from collections import Counter

_FUNCTIONS = "libunibuf_null_cupy.so"
_PREFIX = "unibuf_null_cupy_"


class Missing(ImportError):
    """What is not there, with the cure."""


class Counts(ctypes.Structure):
    """unibuf_null_counts of counts.hpp."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("calls", "waits", "events", "bytes")]


def _loaded():
    try:
        return ctypes.PyDLL(_FUNCTIONS), ctypes.CDLL("libcuda.so.1")
    except OSError as why:
        raise Missing(
            f"the null driver cannot be loaded ({why}): build unibuf_null_cupy, and set LD_LIBRARY_PATH to its folder, "
            "build/release/bench/null"
        ) from why


_functions, _driver = _loaded()
if not hasattr(_driver, "unibuf_null_reset"):
    raise Missing("libcuda.so.1 is a driver of its own: set LD_LIBRARY_PATH to the folder of the null driver first")
if importlib.util.find_spec("cupy") is None:
    raise Missing("CuPy cannot be imported: `make build/cupy`, and PYTHONPATH=build/cupy")

_api = ctypes.pythonapi
_api.PyCapsule_GetName.restype, _api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_signatures = []  # a capsule keeps a pointer to its name


def _replace(runtime):
    """CuPy's other modules take the functions of `runtime` from this table when they are imported."""
    table = runtime.__pyx_capi__
    for name, capsule in table.items():
        function = getattr(_functions, _PREFIX + name.lstrip("_"), None)
        if function is None:
            continue
        _signatures.append(_api.PyCapsule_GetName(capsule))
        address = ctypes.cast(function, ctypes.c_void_p)
        table[name] = _api.PyCapsule_New(address, _signatures[-1], None)


def _replace_for_python(runtime, name, arguments):
    """The same for modules that are written in Python: the last parameter is Cython's."""
    function = getattr(_functions, _PREFIX + name)
    function.restype, function.argtypes = ctypes.c_int, [ctypes.c_int] * (arguments + 1)
    setattr(runtime, name, lambda *given: function(*given, 0))


def _compiled_to_nothing(*_, **__):
    from cupy.cuda.function import Module

    return Module()


def _install():
    from cupy_backends.cuda.api import runtime

    _replace(runtime)
    for name, arguments in (
        ("getDeviceCount", 0),
        ("getDevice", 0),
        ("driverGetVersion", 0),
        ("deviceGetAttribute", 2),
    ):
        _replace_for_python(runtime, name, arguments)
    from cupy.cuda import compiler

    compiler._compile_module_with_cache = _compiled_to_nothing


_install()


def reset():
    """Counts calls from here on."""
    _driver.unibuf_null_reset()


def read():
    """The Counts since `reset`, and how often each function was called, by its name; counts no more."""
    counts = Counts()
    _driver.unibuf_null_read(ctypes.byref(counts))
    by_name = Counter()  # two forms of a function have one name
    for name, number in zip(_names("name"), _calls(), strict=False):
        by_name[name] += number
    return counts, {name: number for name, number in by_name.items() if number}


def lacking():
    """The names that somebody has asked the null driver for in vain."""
    return list(_names("lacking"))


def _names(what):
    function = getattr(_driver, f"unibuf_null_{what}")
    function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_size_t]
    index = 0
    while (name := function(index)) is not None:
        yield name.decode()
        index += 1


def _calls():
    function = _driver.unibuf_null_calls
    function.restype, function.argtypes = ctypes.c_uint64, [ctypes.c_size_t]
    index = 0
    while True:
        yield function(index)
        index += 1
