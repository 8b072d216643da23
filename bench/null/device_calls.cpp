// bench/null/device_calls.cpp: the null driver's device, contexts, streams, events and kernels. All work is done at
// once.
#include <array>
#include <atomic>
#include <cstring>

#include "call.hpp"

using namespace bench::null;

namespace {

// What a handle is made of: each is another one, for ever.
constinit std::atomic<std::uintptr_t> last_handle = 0x100000;

template <class Handle>
Handle new_handle() noexcept {
    constexpr std::uintptr_t apart = 64;
    return reinterpret_cast<Handle>(last_handle.fetch_add(apart, std::memory_order_relaxed) + apart);
}

// The one device's primary context.
const context_handle primary = reinterpret_cast<context_handle>(std::uintptr_t{0x1000});

/// The contexts that are current on a thread, one on the other.
struct context_stack {
    std::array<context_handle, 64> contexts{};
    std::size_t depth = 0;
};
constinit thread_local context_stack stack;
constinit thread_local int capture_mode = 0;

/// Returns an attribute of a card of compute capability 9.0 with memory of its own.
int attribute(int which) noexcept {
    switch (which) {
        case multiprocessors:
            return 132;
        case copy_engines:
            return 3;
        case compute_capability_major:
            return 9;
        case can_map_host_memory:
        case unified_addressing:
        case can_use_registered_addresses:
        case host_register_supported:
        case memory_pools_supported:
            return 1;
        default:
            return 0;
    }
}

constexpr const char* bad_rate = "UNIBUF_NULL_GBPS has to be a rate of copies in GB/s, such as 25";

}  // namespace

UNIBUF_NULL_CALL(cuInit, (unsigned)) {
    calls::cuInit.done();
    return chosen_rate().is_valid ? success : invalid_value;
}

UNIBUF_NULL_CALL(cuDriverGetVersion, (int* version)) {
    *version = 13000;
    return calls::cuDriverGetVersion.done();
}

UNIBUF_NULL_CALL(cuGetErrorName, (result, const char** name)) {
    *name = "CUDA_ERROR";
    return calls::cuGetErrorName.done();
}

UNIBUF_NULL_CALL(cuGetErrorString, (result, const char** text)) {
    *text = chosen_rate().is_valid ? "an error of the null driver" : bad_rate;
    return calls::cuGetErrorString.done();
}

UNIBUF_NULL_CALL(cuDeviceGetCount, (int* count)) {
    *count = 1;
    return calls::cuDeviceGetCount.done();
}

UNIBUF_NULL_CALL(cuDeviceGet, (device_ordinal * device, int ordinal)) {
    *device = ordinal;
    return calls::cuDeviceGet.done();
}

UNIBUF_NULL_CALL(cuDeviceGetName, (char* name, int bytes, device_ordinal)) {
    std::strncpy(name, "null driver", static_cast<std::size_t>(bytes));
    name[bytes - 1] = '\0';
    return calls::cuDeviceGetName.done();
}

UNIBUF_NULL_CALL(cuDeviceGetAttribute, (int* value, int which, device_ordinal)) {
    *value = attribute(which);
    return calls::cuDeviceGetAttribute.done();
}

UNIBUF_NULL_CALL(cuDevicePrimaryCtxRetain, (context_handle * context, device_ordinal)) {
    *context = primary;
    return calls::cuDevicePrimaryCtxRetain.done();
}

UNIBUF_NULL_CALL(cuDeviceCanAccessPeer, (int* can, device_ordinal, device_ordinal)) {
    *can = 0;
    return calls::cuDeviceCanAccessPeer.done();
}

UNIBUF_NULL_CALL(cuCtxEnablePeerAccess, (context_handle, unsigned)) { return calls::cuCtxEnablePeerAccess.done(); }

UNIBUF_NULL_CALL_AS(cuCtxPushCurrent_v2, cuCtxPushCurrent, 0, (context_handle context)) {
    if (stack.depth == stack.contexts.size()) return out_of_memory;
    stack.contexts[stack.depth++] = context;
    return calls::cuCtxPushCurrent_v2.done();
}

UNIBUF_NULL_CALL_AS(cuCtxPopCurrent_v2, cuCtxPopCurrent, 0, (context_handle * context)) {
    if (stack.depth == 0) return invalid_context;
    *context = stack.contexts[--stack.depth];
    return calls::cuCtxPopCurrent_v2.done();
}

UNIBUF_NULL_CALL(cuCtxGetCurrent, (context_handle * context)) {
    *context = stack.depth > 0 ? stack.contexts[stack.depth - 1] : nullptr;
    return calls::cuCtxGetCurrent.done();
}

UNIBUF_NULL_CALL(cuCtxSetCurrent, (context_handle context)) {
    if (stack.depth == 0) ++stack.depth;
    stack.contexts[stack.depth - 1] = context;
    return calls::cuCtxSetCurrent.done();
}

UNIBUF_NULL_CALL(cuCtxSynchronize, ()) { return calls::cuCtxSynchronize.waited(); }

UNIBUF_NULL_CALL(cuCtxGetStreamPriorityRange, (int* least, int* highest)) {
    *least = 0;
    *highest = -5;
    return calls::cuCtxGetStreamPriorityRange.done();
}

UNIBUF_NULL_CALL(cuStreamCreate, (stream_handle * stream, unsigned)) {
    *stream = new_handle<stream_handle>();
    return calls::cuStreamCreate.done();
}

UNIBUF_NULL_CALL(cuStreamCreateWithPriority, (stream_handle * stream, unsigned, int)) {
    *stream = new_handle<stream_handle>();
    return calls::cuStreamCreateWithPriority.done();
}

UNIBUF_NULL_CALL_AS(cuStreamDestroy_v2, cuStreamDestroy, 0, (stream_handle)) {
    return calls::cuStreamDestroy_v2.done();
}

UNIBUF_NULL_CALL(cuStreamGetCtx, (stream_handle, context_handle* context)) {
    *context = primary;
    return calls::cuStreamGetCtx.done();
}

UNIBUF_NULL_CALL_AS(cuStreamGetCtx_v2, cuStreamGetCtx, 12050,
                    (stream_handle, context_handle* context, CUgreenCtx_st** green)) {
    *context = primary;
    *green = nullptr;
    return calls::cuStreamGetCtx_v2.done();
}

UNIBUF_NULL_CALL(cuStreamGetId, (stream_handle stream, unsigned long long* id)) {
    *id = reinterpret_cast<std::uintptr_t>(stream);
    return calls::cuStreamGetId.done();
}

UNIBUF_NULL_CALL(cuStreamSynchronize, (stream_handle)) { return calls::cuStreamSynchronize.waited(); }

UNIBUF_NULL_CALL(cuStreamQuery, (stream_handle)) { return calls::cuStreamQuery.waited(); }

UNIBUF_NULL_CALL(cuStreamWaitEvent, (stream_handle, event_handle, unsigned)) { return calls::cuStreamWaitEvent.done(); }

UNIBUF_NULL_CALL(cuStreamIsCapturing, (stream_handle, int* status)) {
    *status = capture_none;
    return calls::cuStreamIsCapturing.done();
}

UNIBUF_NULL_CALL(cuThreadExchangeStreamCaptureMode, (int* mode)) {
    std::swap(*mode, capture_mode);
    return calls::cuThreadExchangeStreamCaptureMode.done();
}

UNIBUF_NULL_CALL(cuEventCreate, (event_handle * event, unsigned)) {
    *event = new_handle<event_handle>();
    return calls::cuEventCreate.done();
}

UNIBUF_NULL_CALL_AS(cuEventDestroy_v2, cuEventDestroy, 0, (event_handle)) { return calls::cuEventDestroy_v2.done(); }

UNIBUF_NULL_CALL(cuEventRecord, (event_handle, stream_handle)) { return calls::cuEventRecord.recorded(); }

UNIBUF_NULL_CALL_AS(cuCtxRecordEvent, cuCtxRecordEvent, 12050, (context_handle, event_handle)) {
    return calls::cuCtxRecordEvent.recorded();
}

UNIBUF_NULL_CALL(cuEventQuery, (event_handle)) { return calls::cuEventQuery.waited(); }

UNIBUF_NULL_CALL(cuModuleGetFunction, (void** function, void*, const char*)) {
    *function = new_handle<void*>();
    return calls::cuModuleGetFunction.done();
}

UNIBUF_NULL_CALL(cuLaunchKernel, (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  stream_handle, void**, void**)) {
    return calls::cuLaunchKernel.done();
}
