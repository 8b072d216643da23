// tests/doubles/cuda/device_calls.cpp: the driver itself, devices, contexts.
#include <cstdio>
#include <cstring>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

namespace {

struct named {
    result status;
    const char* name;
    const char* text;
};

constexpr named results[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {already_mapped, "CUDA_ERROR_ALREADY_MAPPED", "resource already mapped"},
    {not_mapped, "CUDA_ERROR_NOT_MAPPED", "resource not mapped"},
    {invalid_graphics_context, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid OpenGL or DirectX context"},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {context_is_destroyed, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "peer mapping resources exhausted"},
    {host_memory_already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {host_memory_not_registered, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
     "pointer does not correspond to a registered memory region"},
    {not_permitted, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {not_supported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {capture_implicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {captured_event, "CUDA_ERROR_CAPTURED_EVENT",
     "operation not permitted on an event last recorded in a capturing stream"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "operation failed on an external device"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const named* find(result status) {
    for (const named& each : results) {
        if (each.status == status) return &each;
    }
    return nullptr;
}

bool is_device(device_ordinal device) { return device >= 0 && device < chosen().devices; }

}  // namespace

CUDA_DOUBLE_CALL cuInit(unsigned flags) {
    const call from("cuInit", call::needs::nothing);
    if (from.refused() != success) return from.refused();
    if (flags != 0) return invalid_value;
    if (chosen().devices == 0) return no_device;
    from.in().initialized = true;
    from.in().contexts.resize(static_cast<std::size_t>(chosen().devices));
    return success;
}

CUDA_DOUBLE_CALL cuDriverGetVersion(int* version) {
    const call from("cuDriverGetVersion", call::needs::nothing);
    if (from.refused() != success) return from.refused();
    *version = chosen().version;
    return success;
}

CUDA_DOUBLE_CALL cuGetErrorName(result status, const char** name) {
    const named* const found = find(status);
    *name = found ? found->name : nullptr;
    return found ? success : invalid_value;
}

CUDA_DOUBLE_CALL cuGetErrorString(result status, const char** text) {
    const named* const found = find(status);
    *text = found ? found->text : nullptr;
    return found ? success : invalid_value;
}

CUDA_DOUBLE_CALL cuDeviceGetCount(int* count) {
    const call from("cuDeviceGetCount", call::needs::driver);
    if (from.refused() != success) return from.refused();
    *count = chosen().devices;
    return success;
}

CUDA_DOUBLE_CALL cuDeviceGet(device_ordinal* device, int ordinal) {
    const call from("cuDeviceGet", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(ordinal) || ordinal == chosen().broken) return invalid_device;
    *device = ordinal;
    return success;
}

CUDA_DOUBLE_CALL cuDeviceGetName(char* name, int bytes, device_ordinal device) {
    const call from("cuDeviceGetName", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(device)) return invalid_device;
    std::snprintf(name, static_cast<std::size_t>(bytes), "unibuf test double, not a GPU");
    return success;
}

CUDA_DOUBLE_CALL cuDeviceTotalMem_v2(std::size_t* bytes, device_ordinal device) {
    const call from("cuDeviceTotalMem", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(device)) return invalid_device;
    *bytes = from.in().memory.most_on_device;
    return success;
}

CUDA_DOUBLE_CALL cuDeviceGetAttribute(int* value, int which, device_ordinal device) {
    const call from("cuDeviceGetAttribute", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(device)) return invalid_device;
    if (const auto set = from.in().attributes.find(which); set != from.in().attributes.end()) {
        *value = set->second;
        return success;
    }
    switch (which) {
        case integrated:
            *value = chosen().integrated;
            return success;
        case can_map_host_memory:
        case unified_addressing:
        case can_use_registered_addresses:
        case host_register_supported:
            *value = 1;
            return success;
        case pageable_memory_access:
        case pageable_access_uses_host_page_tables:
            *value = chosen().reads_pageable;
            return success;
        case memory_pools_supported:
            *value = chosen().pools;
            return success;
        case multiprocessors:
        case pci_bus:
            *value = device + 1;
            return success;
        case copy_engines:
            *value = 2;
            return success;
        case compute_capability_major:
            *value = chosen().capability / 10;
            return success;
        case compute_capability_minor:
            *value = chosen().capability % 10;
            return success;
        default:
            *value = 0;
            return success;
    }
}

CUDA_DOUBLE_CALL cuDevicePrimaryCtxRetain(context_handle* context, device_ordinal device) {
    const call from("cuDevicePrimaryCtxRetain", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(device)) return invalid_device;
    CUctx_st*& known = from.in().contexts[static_cast<std::size_t>(device)];
    if (!known) {
        known = new CUctx_st;
        known->device = device;
    }
    *context = known;
    return success;
}

CUDA_DOUBLE_CALL cuDevicePrimaryCtxReset_v2(device_ordinal device) {
    call from("cuDevicePrimaryCtxReset", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!is_device(device)) return invalid_device;
    CUctx_st*& known = from.in().contexts[static_cast<std::size_t>(device)];
    if (!known) return success;
    CUctx_st& gone = *known;
    vector_clock when;
    for (const queued& each : all_work(gone, when)) from.wait_for(each);
    gone.destroyed = true;
    for (CUstream_st* each : gone.streams) end_stream(*each);
    for (const device_pointer each : from.in().memory.of_context(device)) {
        region& freed = *from.in().memory.find(each);
        from.in().memory.free(freed);
        from.in().memory.vanish(freed.begin, freed.bytes);
    }
    known = nullptr;
    return success;
}

CUDA_DOUBLE_CALL cuCtxPushCurrent_v2(context_handle context) {
    const call from("cuCtxPushCurrent", call::needs::driver);
    if (from.refused() != success) return from.refused();
    if (!context) return invalid_context;
    if (context->destroyed) return context_is_destroyed;
    this_thread().current.push_back(context);
    return success;
}

CUDA_DOUBLE_CALL cuCtxPopCurrent_v2(context_handle* context) {
    const call from("cuCtxPopCurrent", call::needs::driver);
    if (from.refused() != success) return from.refused();
    std::vector<CUctx_st*>& current = this_thread().current;
    if (current.empty()) return invalid_context;
    if (context) *context = current.back();
    current.pop_back();
    return success;
}

CUDA_DOUBLE_CALL cuCtxGetCurrent(context_handle* context) {
    const call from("cuCtxGetCurrent", call::needs::driver);
    if (from.refused() != success) return from.refused();
    *context = this_thread().current.empty() ? nullptr : this_thread().current.back();
    return success;
}

CUDA_DOUBLE_CALL cuCtxSynchronize() {
    call from("cuCtxSynchronize", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (break_captures(from.context())) return capture_unsupported;
    vector_clock when;
    const std::vector<queued> work = all_work(from.context(), when);
    return wait_for_all(from, work, when);
}
