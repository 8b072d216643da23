// bench/null/cupy_calls.cpp: what null_cupy.py puts in the place of CuPy's functions that call CUDA's runtime, which is
// linked into CuPy: each makes the call of the null driver that the runtime would make, one for one, and lets the
// interpreter's lock go where CuPy's does. Their parameters are CuPy's, with Cython's own at the end. CuPy's calls of
// the driver itself find the null driver by its name.
#include <Python.h>

#include <cstdint>

#include "backends/cuda/api.hpp"

using namespace unibuf::backends::cuda;

// These are functions of the null driver.
extern "C" {
result cuDriverGetVersion(int* version);
result cuDeviceGetCount(int* count);
result cuDeviceGetAttribute(int* value, int which, device_ordinal device);
result cuCtxGetCurrent(context_handle* context);
result cuCtxSetCurrent(context_handle context);
result cuCtxSynchronize();
result cuStreamCreateWithPriority(stream_handle* stream, unsigned flags, int priority);
result cuStreamDestroy_v2(stream_handle stream);
result cuStreamSynchronize(stream_handle stream);
result cuStreamIsCapturing(stream_handle stream, int* status);
result cuMemAlloc_v2(device_pointer* address, std::size_t bytes);
result cuMemFree_v2(device_pointer address);
result cuMemcpyHtoDAsync_v2(device_pointer to, const void* host, std::size_t bytes, stream_handle stream);
result cuMemcpyDtoHAsync_v2(void* host, device_pointer from, std::size_t bytes, stream_handle stream);
result cuMemcpyDtoDAsync_v2(device_pointer to, device_pointer from, std::size_t bytes, stream_handle stream);
}

namespace {

template <class Call>
void without_lock(Call call) {
    PyThreadState* const thread = PyEval_SaveThread();
    call();
    PyEval_RestoreThread(thread);
}

template <class Call>
PyObject* none_after(Call call) {
    without_lock(call);
    Py_RETURN_NONE;
}

stream_handle stream_of(std::intptr_t handle) { return reinterpret_cast<stream_handle>(handle); }
device_pointer address_of(std::intptr_t address) { return static_cast<device_pointer>(address); }

int current_device() {
    context_handle context = nullptr;
    cuCtxGetCurrent(&context);
    return 0;
}

}  // namespace

#define UNIBUF_CUPY(type, name) extern "C" [[gnu::visibility("default")]] type unibuf_null_cupy_##name

UNIBUF_CUPY(int, getDeviceCount)(int) {
    int count = 0;
    cuDeviceGetCount(&count);
    return count;
}

UNIBUF_CUPY(int, driverGetVersion)(int) {
    int version = 0;
    cuDriverGetVersion(&version);
    return version;
}

UNIBUF_CUPY(int, deviceGetAttribute)(int which, int device, int) {
    int value = 0;
    cuDeviceGetAttribute(&value, which, device);
    return value;
}

UNIBUF_CUPY(int, getDevice)(int) { return current_device(); }

UNIBUF_CUPY(PyObject*, setDevice)(int, int) {
    constexpr std::uintptr_t primary = 0x1000;
    cuCtxSetCurrent(reinterpret_cast<context_handle>(primary));
    Py_RETURN_NONE;
}

UNIBUF_CUPY(PyObject*, ensure_context)() {
    current_device();
    Py_RETURN_NONE;
}

UNIBUF_CUPY(PyObject*, deviceSynchronize)(int) {
    return none_after([] { cuCtxSynchronize(); });
}

UNIBUF_CUPY(std::intptr_t, malloc)(std::size_t bytes, int) {
    device_pointer address = 0;
    without_lock([&] { cuMemAlloc_v2(&address, bytes); });
    return static_cast<std::intptr_t>(address);
}

UNIBUF_CUPY(PyObject*, free)(std::intptr_t address, int) {
    return none_after([=] { cuMemFree_v2(address_of(address)); });
}

UNIBUF_CUPY(std::intptr_t, streamCreateWithFlags)(unsigned flags, int) {
    stream_handle made = nullptr;
    cuStreamCreateWithPriority(&made, flags, 0);
    return reinterpret_cast<std::intptr_t>(made);
}

UNIBUF_CUPY(std::intptr_t, streamCreateWithPriority)(unsigned flags, int priority, int) {
    stream_handle made = nullptr;
    cuStreamCreateWithPriority(&made, flags, priority);
    return reinterpret_cast<std::intptr_t>(made);
}

UNIBUF_CUPY(PyObject*, streamDestroy)(std::intptr_t stream, int) {
    cuStreamDestroy_v2(stream_of(stream));
    Py_RETURN_NONE;
}

UNIBUF_CUPY(PyObject*, streamSynchronize)(std::intptr_t stream, int) {
    return none_after([=] { cuStreamSynchronize(stream_of(stream)); });
}

UNIBUF_CUPY(int, streamIsCapturing)(std::intptr_t stream, int) {
    int status = 0;
    without_lock([&] { cuStreamIsCapturing(stream_of(stream), &status); });
    return status;
}

UNIBUF_CUPY(PyObject*, memcpyAsync)
(std::intptr_t to, std::intptr_t from, std::size_t bytes, int kind, std::intptr_t stream, int) {
    constexpr int host_to_device = 1;  // cudaMemcpyKind
    constexpr int device_to_host = 2;
    return none_after([=] {
        if (kind == host_to_device) {
            cuMemcpyHtoDAsync_v2(address_of(to), reinterpret_cast<const void*>(from), bytes, stream_of(stream));
        } else if (kind == device_to_host) {
            cuMemcpyDtoHAsync_v2(reinterpret_cast<void*>(to), address_of(from), bytes, stream_of(stream));
        } else {
            cuMemcpyDtoDAsync_v2(address_of(to), address_of(from), bytes, stream_of(stream));
        }
    });
}
