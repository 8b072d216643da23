// tests/doubles/cuda/streams.cpp
#include "doubles/cuda/streams.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "doubles/cuda/settings.hpp"
#include "doubles/cuda/stop.hpp"

namespace cuda_double {
namespace {

/// Some operations come late, so that what lacks order goes wrong now and then.
void nap(CUstream_st& stream) {
    if (chosen().jitter == 0 || stream.random() % 4 != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(stream.random() % 100));
}

void run_stream(driver& in, CUstream_st& stream) {
    this_thread().runs_a_stream = true;
    prctl(PR_SET_TIMERSLACK, 1);  // a nap takes as long as it says
    std::unique_lock lock(in.mutex);
    for (;;) {
        stream.given.wait(lock, [&] { return !stream.waiting.empty() || stream.destroyed; });
        if (stream.waiting.empty()) {
            stream.context->ended.join(stream.when);
            std::erase(stream.context->streams, &stream);
            return;
        }
        const queued next = stream.waiting.front();
        in.done.wait(lock, [&] { return std::ranges::all_of(next->after, &operation::done); });
        const bool works = stream.context->lost == success;
        const std::function<void()> run = std::move(next->run);
        lock.unlock();
        nap(stream);
        if (works && run) run();
        lock.lock();
        next->after.clear();
        next->done = true;
        stream.waiting.pop_front();
        in.done.notify_all();
    }
}

}  // namespace

CUstream_st* start_stream(driver& in, CUctx_st& of, bool blocking) {
    auto* const made = new CUstream_st;
    made->number = in.streams.size();
    made->context = &of;
    made->blocking = blocking;
    made->random.seed(chosen().jitter + static_cast<std::uint32_t>(made->number));
    in.streams.push_back(made);
    of.streams.push_back(made);
    std::thread([&in, made] { run_stream(in, *made); }).detach();
    return made;
}

void end_stream(CUstream_st& which) {
    which.destroyed = true;
    which.given.notify_one();
}

CUstream_st* stream_of(const driver& in, stream_handle handle) {
    const auto found = in.given_again.find(handle);
    return found == in.given_again.end() ? handle : found->second;
}

CUstream_st* stream_behind(call& from, stream_handle handle) {
    driver& in = from.in();
    CUctx_st& current = from.context();
    if (!handle || handle == legacy_stream) {
        if (!current.legacy) current.legacy = start_stream(in, current, false);
        return current.legacy;
    }
    if (handle == per_thread_stream) {
        CUstream_st*& mine = current.per_thread[this_thread().number];
        if (!mine) mine = start_stream(in, current, true);
        return mine;
    }
    handle = stream_of(in, handle);
    if (std::ranges::find(in.streams, handle) == in.streams.end()) return nullptr;
    if (handle->destroyed) stop("%s on a stream that was destroyed", from.name());
    if (handle->context != &current) {
        stop("%s on stream %zu, which belongs to another context than the current one", from.name(), handle->number);
    }
    return handle;
}

result submit(call& from, CUstream_st& on, const std::vector<footprint>& touches, std::function<void()> run,
              const std::vector<queued>& after, const vector_clock& after_when) {
    CUctx_st& context = *on.context;
    const bool is_legacy = &on == context.legacy;
    if (is_legacy) {
        bool conflict = false;
        for (CUstream_st* each : context.streams) {
            if (!each->blocking || each->capture == capture_none) continue;
            each->capture = capture_broken;
            conflict = true;
        }
        if (conflict) return capture_implicit;
    }
    if (on.capture == capture_broken) return capture_invalidated;
    if (on.capture != capture_none) {
        on.captured.works.push_back({from.name(), touches, std::move(run)});
        return success;
    }

    const auto made = std::make_shared<operation>();
    made->name = from.name();
    made->stream = on.number;
    made->number = ++on.operations;
    made->when = from.in().host;
    made->when.join(on.when);
    made->when.join(after_when);
    made->after = after;
    const auto comes_after = [&](const CUstream_st& other) {
        if (other.last && !other.last->done) made->after.push_back(other.last);
        made->when.join(other.when);
    };
    if (from.in().queues != 0 && on.priority == 0) {
        // This is no order that a program may count on, so no clock sees it.
        for (const CUstream_st* each : context.streams) {
            const bool in_one_queue =
                each->priority == 0 && each->number % from.in().queues == on.number % from.in().queues;
            if (in_one_queue && each->last && !each->last->done) made->after.push_back(each->last);
        }
    }
    if (is_legacy) {
        made->when.join(context.ended);
        for (const CUstream_st* each : context.streams) {
            if (each->blocking) comes_after(*each);
        }
    } else if (on.blocking && context.legacy) {
        comes_after(*context.legacy);
    }
    made->when.see(made->stream, made->number);
    made->run = std::move(run);
    for (const footprint& each : touches) {
        touch(*each.what, each.begin, each.begin + each.bytes, each.writes, *made, from.in().host);
    }
    on.when = made->when;
    on.last = made;
    on.waiting.push_back(made);
    on.given.notify_one();
    return success;
}

std::vector<queued> all_work(const CUctx_st& of, vector_clock& when) {
    std::vector<queued> result;
    when.join(of.ended);
    for (const CUstream_st* each : of.streams) {
        if (each->last) result.push_back(each->last);
        when.join(each->when);
    }
    return result;
}

result wait_for_all(call& from, const std::vector<queued>& work, const vector_clock& when) {
    const CUctx_st& context = from.context();
    for (const queued& each : work) from.wait_for(each);
    if (context.destroyed) return context_is_destroyed;
    if (context.lost != success) return context.lost;
    from.seen_by_host(when);
    return success;
}

}  // namespace cuda_double
