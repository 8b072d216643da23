// backends/cuda/context.cpp: one device's primary context, and the order of work in it.
#include "backends/cuda/context.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace unibuf::backends::cuda {

context::scope::scope(const context& of) {
    if (of.born_ != process::forks()) {
        throw error(error_code::device_lost, of.description_ + " belongs to the parent process");
    }
    const result lost = of.lost_.load(std::memory_order_acquire);
    if (lost != success) {
        throw error(error_code::device_lost,
                    fmt::format("{} is lost since an earlier failure: {}", of.description_, text_of(lost)));
    }
    const result status = api().cuCtxPushCurrent(of.native_);
    if (status != success) fail(status, of.description_ + ": its context cannot be used", error_code::device_lost);
    api().cuThreadExchangeStreamCaptureMode(&mode_);
}

context::scope::~scope() {
    api().cuThreadExchangeStreamCaptureMode(&mode_);
    context_handle popped = nullptr;
    api().cuCtxPopCurrent(&popped);
}

context::context(device_ordinal ordinal, std::string description)
    : ordinal_(ordinal), description_(std::move(description)) {
    const result status = api().cuDevicePrimaryCtxRetain(&native_, ordinal);
    if (status != success) fail(status, description_ + ": no context can be made", error_code::device_unavailable);
    const scope current(*this);
    int least = 0;
    int highest = 0;
    check(api().cuCtxGetStreamPriorityRange(&least, &highest), "its streams cannot be asked about",
          error_code::device_unavailable);
    own_ = make_stream(least);
    idle_ = make_stream(highest);
    freeing_ = make_stream(least);
}

stream_handle context::make_stream(int priority) {
    stream_handle made = nullptr;
    check(api().cuStreamCreateWithPriority(&made, stream_non_blocking, priority), "no stream can be made",
          error_code::device_unavailable);
    return made;
}

void context::check(result status, const std::string& asked, error_code otherwise) {
    if (status == success) return;
    if (is_lost(status)) lost_.store(status, std::memory_order_release);
    fail(status, fmt::format("{}: {}", description_, asked), otherwise);
}

stream_handle context::stream_for(queue on) {
    if (!on) {
        order(mark_all(), own_);
        return own_;
    }
    auto* const named = static_cast<stream_handle>(on.native);
    check_named(named);
    return named;
}

stream_handle context::captured_stream(queue on) {
    auto* const named = static_cast<stream_handle>(on.native);
    const bool may_be = on && named != legacy_stream;
    if (may_be) check_owner(named);
    if (may_be && is_captured(named)) return named;
    throw error(error_code::invalid_argument,
                description_ + ": an upload was to be captured, but no stream that is being captured was named");
}

void context::check_named(stream_handle named) {
    check_owner(named);
    if (!is_captured(named)) return;
    throw error(error_code::unsupported,
                description_ + ": the stream that was named is being captured, and what unibuf put there would be " +
                    "done at each launch, not now: make the buffer current before the capture, and take the lease " +
                    "around the launch; or let the graph upload, by capture_upload");
}

void context::check_owner(stream_handle named) {
    if (named == legacy_stream || named == per_thread_stream) return;
    context_handle owner = nullptr;
    CUgreenCtx_st* green = nullptr;
    // A stream of a green context belongs to the primary context, which only the newer call says.
    const result status =
        api().cuStreamGetCtx_v2 ? api().cuStreamGetCtx_v2(named, &owner, &green) : api().cuStreamGetCtx(named, &owner);
    // These statuses mean that the context of the named stream has gone, and say nothing of this one.
    const bool none = status == invalid_handle || status == invalid_context || status == context_is_destroyed;
    if (none) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: the stream that was named is none: {}", description_, text_of(status)));
    }
    check(status, "the stream that was named cannot be asked", error_code::invalid_argument);
    if (owner != native_) {
        throw error(error_code::invalid_argument,
                    description_ + ": the stream that was named belongs to another context");
    }
}

std::uint64_t context::identify(stream_handle named) {
    // These stand for the same stream at all times, on one thread each.
    if (named == legacy_stream || named == per_thread_stream) return reinterpret_cast<std::uintptr_t>(named);
    const scope current(*this);
    check_owner(named);
    // To ask for the id of a stream that is being captured breaks the capture, and unibuf queues nothing there.
    if (is_captured(named)) return reinterpret_cast<std::uintptr_t>(named);
    unsigned long long id = 0;
    check(api().cuStreamGetId(named, &id), "the stream that was named cannot be asked", error_code::invalid_argument);
    constexpr std::uint64_t is_id = std::uint64_t{1} << 63;  // so that it is none of the handles above, nor 0
    return id | is_id;
}

bool context::is_captured(stream_handle named) {
    int capturing = capture_none;
    check(api().cuStreamIsCapturing(named, &capturing), "the stream that was named cannot be asked");
    return capturing != capture_none;
}

/// Where there can be no fence, waits: what is queued cannot be taken back.
fence context::mark(stream_handle stream) {
    const auto record_in = [&](const queued_work& work) {
        const result status = api().cuEventRecord(work.native(), stream);
        if (status != success && !is_lost(status)) api().cuStreamSynchronize(stream);
        check(status, "a fence cannot be queued");
    };
    std::shared_ptr<queued_work> work;
    try {
        work = std::make_shared<queued_work>(*this);
    } catch (const std::bad_alloc&) {
        queued_work here(*this);
        record_in(here);
        here.wait(forever);
        return {};
    }
    record_in(*work);
    return fence(std::move(work));
}

void context::reach(context& other) {
    const std::scoped_lock lock(reached_mutex_);
    if (std::ranges::find(reached_, &other) != reached_.end()) return;
    int can = 0;
    check(api().cuDeviceCanAccessPeer(&can, ordinal_, other.ordinal_), "whether a peer is in reach cannot be asked");
    constexpr unsigned no_flags = 0;
    const result status = can == 0 ? success : api().cuCtxEnablePeerAccess(other.native_, no_flags);
    if (is_lost(status)) check(status, "a peer in reach cannot be accessed");
    if (can != 0 && (status == success || status == peer_access_already_enabled)) {
        // Pooled memory needs a call of its own.
        const access_of this_device{.location = {.type = location_device, .id = ordinal_}, .flags = access_read_write};
        if (other.pool_) check(api().cuMemPoolSetAccess(other.pool_, &this_device, 1), "a peer's pool is closed");
    }
    reached_.push_back(&other);
}

int context::attribute(int which) const {
    int value = 0;
    return api().cuDeviceGetAttribute(&value, which, ordinal_) == success ? value : 0;
}

fence context::mark_all() {
    const std::scoped_lock lock(marking_mutex_);
    {
        const std::scoped_lock lists(to_free_mutex_);
        freed_before_mark_.insert(freed_before_mark_.end(), to_free_.begin(), to_free_.end());
        to_free_.clear();
    }
    for (const fence_listener& each : told_) each.begin();
    const fence all = mark_known();
    free_after(all);
    for (const fence_listener& each : told_) each.end(all);
    return all;
}

fence context::mark_known() { return streams_.empty() ? mark_context() : mark_streams(); }

fence context::mark_context() {
    if (!api().cuCtxRecordEvent) {  // before 12.5 a context can only be waited for
        check(api().cuCtxSynchronize(), "work that was queued before failed");
        return {};
    }
    auto work = std::make_shared<queued_work>(*this);
    check(api().cuCtxRecordEvent(native_, work->native()), "a fence cannot be queued");
    return fence(std::move(work));
}

fence context::mark_streams() {
    for (const stream_handle each : streams_) {
        check_named(each);
        order(mark(each), own_);
    }
    return mark(own_);
}

void context::use_streams(std::vector<stream_handle> all) {
    for (const stream_handle each : all) {
        if (each == per_thread_stream) {
            throw error(error_code::invalid_argument,
                        description_ +
                            ": the default stream of each thread is another one, and cannot be one of the "
                            "program's streams: name it with each access");
        }
        check_named(each);
    }
    const std::scoped_lock lock(marking_mutex_);
    order(mark_known(), own_);  // every later fence comes after the own stream, and so after streams that are left
    streams_ = std::move(all);
}

void context::tell_of_fences(const fence_listener& told) {
    const std::scoped_lock lock(marking_mutex_);
    told_.push_back(told);
}

void context::free(device_pointer address, bool in_use) {
    if (!in_use) return check(api().cuMemFreeAsync(address, idle_), "memory cannot be given back");
    const std::scoped_lock lock(to_free_mutex_);
    to_free_.push_back(address);
}

void context::free_after(const fence& all) {
    if (freed_before_mark_.empty()) return;
    order(all, freeing_);
    while (!freed_before_mark_.empty()) {
        const device_pointer next = freed_before_mark_.back();
        freed_before_mark_.pop_back();
        check(api().cuMemFreeAsync(next, freeing_), "memory cannot be given back");
    }
}

void context::trim_pool(std::chrono::nanoseconds timeout) {
    if (!pool_) return;
    mark_all();
    for (const stream_handle each : {freeing_, idle_}) {
        if (!mark(each).wait(timeout)) continue;
        // The pool learns that memory is free where a stream is waited for: an event that is done tells it nothing.
        // Under the lock nobody puts the stream behind other work meanwhile, which would be waited for without end.
        const std::scoped_lock lock(marking_mutex_);
        constexpr std::chrono::milliseconds to_see_it_done(1);
        if (mark(each).wait(to_see_it_done))
            check(api().cuStreamSynchronize(each), "work that was queued before failed");
    }
    check(api().cuMemPoolTrimTo(pool_, 0), "memory cannot be given back");
}

bool context::order(const fence& before, stream_handle stream) {
    if (!before.native()) return true;
    const auto* const work = dynamic_cast<const queued_work*>(before.native());
    if (!work) return false;
    constexpr unsigned default_flags = 0;
    check(api().cuStreamWaitEvent(stream, work->native(), default_flags), "queued work cannot be ordered");
    return true;
}

}  // namespace unibuf::backends::cuda
