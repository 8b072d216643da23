// tests/doubles/cuda/driver.cpp
#include "doubles/cuda/driver.hpp"

#include <cstring>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"
#include "doubles/cuda/streams.hpp"

namespace cuda_double {

driver& driver::instance() {
    static auto* const only = new driver;
    return *only;
}

thread_state::thread_state() : number(++driver::instance().threads) {}

/// The default stream of a thread ends with it.
thread_state::~thread_state() {
    if (!current.empty()) stop("a thread ended with %zu contexts pushed and not popped", current.size());
    driver& in = driver::instance();
    const std::scoped_lock lock(in.mutex);
    for (const CUctx_st* each : in.contexts) {
        if (!each) continue;
        const auto own = each->per_thread.find(number);
        if (own != each->per_thread.end()) end_stream(*own->second);
    }
}

thread_state& this_thread() {
    static thread_local thread_state mine;
    return mine;
}

bool break_captures(const CUctx_st& of) {
    bool found = false;
    for (CUstream_st* each : of.streams) {
        if (each->capture == capture_none) continue;
        each->capture = capture_broken;
        found = true;
    }
    return found;
}

bool breaks_captures(driver& in) {
    const int mine = this_thread().capture_mode;
    if (mine == capture_mode_relaxed) return false;
    bool broken = false;
    for (CUstream_st* each : in.streams) {
        if (each->capture == capture_none) continue;
        const bool own = each->captured_by == this_thread().number;
        const bool minds = own ? each->capture_mode != capture_mode_relaxed
                               : mine == capture_mode_global && each->capture_mode == capture_mode_global;
        if (!minds) continue;
        each->capture = capture_broken;
        broken = true;
    }
    return broken;
}

call::call(const char* name, needs what) : driver_(driver::instance()), name_(name), lock_(driver_.mutex) {
    if (this_thread().runs_a_stream) {
        refused_ = not_permitted;
        return;
    }
    ++driver_.counts[name].calls;
    refused_ = injected();
    if (refused_ == success) refused_ = check(what);
}

result call::check(needs what) {
    if (what == needs::nothing) return success;
    if (!driver_.initialized) return not_initialized;
    if (what == needs::driver) return success;
    if (this_thread().current.empty()) return invalid_context;
    context_ = this_thread().current.back();
    if (context_->destroyed) return context_is_destroyed;
    if (context_->lost != success) return context_->lost;
    if (what == needs::safety && breaks_captures(driver_)) return capture_unsupported;
    return success;
}

result call::injected() {
    static constexpr const char* spared[] = {"cuCtxPushCurrent", "cuCtxPopCurrent", "cuThreadExchangeStreamCaptureMode",
                                             "cuGetErrorName", "cuGetErrorString"};
    for (failure& each : driver_.failures) {
        if (each.times == 0) continue;
        if (each.function.empty()) {
            bool spare = false;
            for (const char* name : spared) spare |= std::strcmp(name, name_) == 0;
            if (spare) continue;
        } else if (each.function != name_) {
            continue;
        }
        if (each.after > 0) {
            --each.after;
            nearer_.push_back(&each);
            continue;
        }
        --each.times;
        ++driver_.hits;
        return each.status;
    }
    return success;
}

result call::not_yet() {
    for (failure* const each : nearer_) ++each->after;
    return not_ready;
}

void call::count_bytes(std::size_t bytes) { driver_.counts[name_].bytes += bytes; }

void call::wait_for(const queued& work) {
    if (work) driver_.done.wait(lock_, [&] { return work->done; });
}

}  // namespace cuda_double
