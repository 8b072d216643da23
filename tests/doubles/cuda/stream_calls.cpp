// tests/doubles/cuda/stream_calls.cpp: streams, captures, events.
#include <algorithm>
#include <utility>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

using namespace cuda_double;

namespace {

bool is_event(const call& from, event_handle event) { return from.in().events.contains(event); }

/// Whether the event was recorded in a capture, which no wait may end.
result in_order(const CUevent_st& event) { return event.in_capture ? captured_event : success; }

result record(call& from, CUevent_st& event, const std::vector<queued>& work, const vector_clock& when) {
    if (event.context != &from.context()) return invalid_handle;
    event.in_capture = false;
    event.work = work;
    event.when = when;
    return success;
}

constexpr int highest_priority = -5;

result create(const call& from, stream_handle* stream, unsigned flags, int priority) {
    if (from.refused() != success) return from.refused();
    if (flags > stream_non_blocking) return invalid_value;
    *stream = start_stream(from.in(), from.context(), flags != stream_non_blocking);
    (*stream)->priority = std::clamp(priority, highest_priority, 0);
    if (CUstream_st* const again = std::exchange(from.in().give_next, nullptr)) {
        from.in().given_again[again] = *stream;
        *stream = again;
    }
    return success;
}

}  // namespace

CUDA_DOUBLE_CALL cuCtxGetStreamPriorityRange(int* least, int* highest) {
    const call from("cuCtxGetStreamPriorityRange", call::needs::context);
    if (from.refused() != success) return from.refused();
    *least = 0;
    *highest = highest_priority;
    return success;
}

CUDA_DOUBLE_CALL cuStreamCreate(stream_handle* stream, unsigned flags) {
    constexpr int usual = 0;
    return create(call("cuStreamCreate", call::needs::context), stream, flags, usual);
}

CUDA_DOUBLE_CALL cuStreamCreateWithPriority(stream_handle* stream, unsigned flags, int priority) {
    return create(call("cuStreamCreateWithPriority", call::needs::context), stream, flags, priority);
}

CUDA_DOUBLE_CALL cuStreamDestroy_v2(stream_handle stream) {
    call from("cuStreamDestroy", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found || found == from.context().legacy) return invalid_handle;
    end_stream(*found);
    return success;
}

CUDA_DOUBLE_CALL cuStreamGetCtx(stream_handle stream, context_handle* context) {
    const call from("cuStreamGetCtx", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (!stream || stream == legacy_stream || stream == per_thread_stream) {
        *context = &from.context();
        return success;
    }
    stream = stream_of(from.in(), stream);
    const auto& known = from.in().streams;
    if (std::ranges::find(known, stream) == known.end()) return invalid_handle;
    if (stream->destroyed) stop("cuStreamGetCtx of a stream that was destroyed");
    *context = stream->green ? reinterpret_cast<context_handle>(stream) : stream->context;
    return success;
}

CUDA_DOUBLE_CALL cuStreamGetCtx_v2(stream_handle stream, context_handle* context, CUgreenCtx_st** green) {
    const result status = cuStreamGetCtx(stream, context);
    if (status != success) return status;
    stream = stream_of(driver::instance(), stream);
    const bool is_green = *context == reinterpret_cast<context_handle>(stream);
    *green = is_green ? reinterpret_cast<CUgreenCtx_st*>(stream) : nullptr;
    if (is_green) *context = stream->context;
    return success;
}

CUDA_DOUBLE_CALL cuStreamGetId(stream_handle stream, unsigned long long* id) {
    const call from("cuStreamGetId", call::needs::driver);
    if (from.refused() != success) return from.refused();
    stream = stream_of(from.in(), stream);
    const auto& known = from.in().streams;
    if (std::ranges::find(known, stream) == known.end()) return invalid_handle;
    if (stream->destroyed) stop("cuStreamGetId of a stream that was destroyed");
    // An H200's driver broke the capture of the stream that was asked. To break others too is the worst.
    if (stream->capture != capture_none) {
        stream->capture = capture_broken;
        return capture_unsupported;
    }
    if (breaks_captures(from.in())) return capture_unsupported;
    *id = stream->number;
    return success;
}

CUDA_DOUBLE_CALL cuStreamQuery(stream_handle stream) {
    call from("cuStreamQuery", call::needs::safety);
    if (from.refused() != success) return from.refused();
    const CUstream_st* const found = stream_behind(from, stream);
    if (!found) return invalid_handle;
    if (found->last && !found->last->done) return from.not_yet();
    from.seen_by_host(found->when);
    return success;
}

CUDA_DOUBLE_CALL cuStreamSynchronize(stream_handle stream) {
    call from("cuStreamSynchronize", call::needs::safety);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found) return invalid_handle;
    if (found->capture != capture_none) {
        found->capture = capture_broken;
        return capture_unsupported;
    }
    if (found == from.context().legacy) {  // an operation there comes after all blocking streams
        if (const result status = submit(from, *found, {}, {}); status != success) return status;
    }
    const vector_clock when = found->when;
    return wait_for_all(from, {found->last}, when);
}

CUDA_DOUBLE_CALL cuStreamWaitEvent(stream_handle stream, event_handle event, unsigned) {
    call from("cuStreamWaitEvent", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found || !is_event(from, event)) return invalid_handle;
    return submit(from, *found, {}, {}, event->work, event->when);
}

CUDA_DOUBLE_CALL cuStreamIsCapturing(stream_handle stream, int* status) {
    call from("cuStreamIsCapturing", call::needs::context);
    if (from.refused() != success) return from.refused();
    const CUstream_st* const found = stream_behind(from, stream);
    if (!found) return invalid_handle;
    const auto captured = [](const CUstream_st* each) { return each->blocking && each->capture != capture_none; };
    if (found == from.context().legacy && std::ranges::any_of(from.context().streams, captured)) {
        return capture_implicit;
    }
    *status = found->capture;
    return success;
}

CUDA_DOUBLE_CALL cuThreadExchangeStreamCaptureMode(int* mode) {
    const call from("cuThreadExchangeStreamCaptureMode", call::needs::driver);
    if (from.refused() != success) return from.refused();
    std::swap(*mode, this_thread().capture_mode);
    return success;
}

CUDA_DOUBLE_CALL cuStreamBeginCapture_v2(stream_handle stream, int mode) {
    call from("cuStreamBeginCapture", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found) return invalid_handle;
    if (found == from.context().legacy || found->capture != capture_none) return capture_unsupported;
    found->capture = capture_active;
    found->capture_mode = mode;
    found->captured_by = this_thread().number;
    found->captured = {};
    return success;
}

CUDA_DOUBLE_CALL cuStreamEndCapture(stream_handle stream, void** graph) {
    call from("cuStreamEndCapture", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found || found->capture == capture_none) return capture_unmatched;
    const bool broken = found->capture == capture_broken;
    found->capture = capture_none;
    *graph = broken ? nullptr : new CUgraph_st(std::move(found->captured));
    return broken ? capture_invalidated : success;
}

CUDA_DOUBLE_CALL cuLaunchHostFunc(stream_handle stream, void (*function)(void*), void* data) {
    call from("cuLaunchHostFunc", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found) return invalid_handle;
    return submit(from, *found, {}, [function, data] { function(data); });
}

CUDA_DOUBLE_CALL cuEventCreate(event_handle* event, unsigned) {
    const call from("cuEventCreate", call::needs::context);
    if (from.refused() != success) return from.refused();
    *event = new CUevent_st;
    (*event)->context = &from.context();
    from.in().events.insert(*event);
    return success;
}

CUDA_DOUBLE_CALL cuEventDestroy_v2(event_handle event) {
    const call from("cuEventDestroy", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (!is_event(from, event)) return invalid_handle;
    from.in().events.erase(event);
    delete event;
    return success;
}

CUDA_DOUBLE_CALL cuEventRecord(event_handle event, stream_handle stream) {
    call from("cuEventRecord", call::needs::context);
    if (from.refused() != success) return from.refused();
    CUstream_st* const found = stream_behind(from, stream);
    if (!found || !is_event(from, event)) return invalid_handle;
    if (const result status = submit(from, *found, {}, {}); status != success) return status;
    const result status = record(from, *event, {found->last}, found->when);
    event->in_capture = found->capture != capture_none;
    return status;
}

CUDA_DOUBLE_CALL cuCtxRecordEvent(context_handle context, event_handle event) {
    call from("cuCtxRecordEvent", call::needs::context);
    if (from.refused() != success) return from.refused();
    if (context != &from.context() || !is_event(from, event)) return invalid_handle;
    if (break_captures(*context)) return capture_unsupported;
    vector_clock when;
    const std::vector<queued> work = all_work(*context, when);
    return record(from, *event, work, when);
}

CUDA_DOUBLE_CALL cuEventQuery(event_handle event) {
    call from("cuEventQuery", call::needs::safety);
    if (from.refused() != success) return from.refused();
    if (!is_event(from, event)) return invalid_handle;
    if (const result status = in_order(*event); status != success) return status;
    if (!std::ranges::all_of(event->work, &operation::done)) return from.not_yet();
    from.seen_by_host(event->when);
    return success;
}
