// backends/cuda/context.hpp: one device's primary context, and the order of work in it.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/cuda/error.hpp"
#include "backends/cuda/event.hpp"
#include "process/forks.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::cuda {

/// The context is retained, and never released: buffers may go when static objects do, after the driver has gone. Any
/// thread.
class context {
public:
    /// `description` names the device in errors.
    context(device_ordinal ordinal, std::string description);
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    context_handle native() const noexcept { return native_; }

    /// Returns the pool that the context's memory comes from; null where the device has no pools.
    pool_handle pool() const noexcept { return pool_; }
    void use_pool(pool_handle made) noexcept { pool_ = made; }

    /// Returns an attribute of the device; 0 where the driver does not know it.
    int attribute(int which) const;

    const std::string& description() const noexcept { return description_; }
    event_pool& events() noexcept { return events_; }

    /// Makes the context current on this thread for a while, and throws where it is lost. What is called meanwhile does
    /// not disturb captures that other threads have under way.
    class scope {
    public:
        explicit scope(const context& of);
        ~scope();
        scope(const scope&) = delete;
        scope& operator=(const scope&) = delete;

    private:
        int mode_ = capture_mode_relaxed;
    };

    /// Throws where `status` is not success, and remembers it where all is lost.
    void check(result status, const std::string& asked, error_code otherwise = error_code::transfer_failed);

    // All functions from here on need a scope that is open.

    /// Returns the stream that an operation goes to: `on`, or, where it names none, the own stream, after all work that
    /// was submitted to the context before. Throws error(invalid_argument) for a stream of another context,
    /// error(unsupported) for one that is being captured.
    stream_handle stream_for(queue on);

    /// Returns the stream, which is being captured. Throws as stream_for, but error(invalid_argument) for one that is
    /// not.
    stream_handle captured_stream(queue on);

    /// Returns a number that no other stream has, not even one that gets the handle later; needs no scope. Throws as
    /// stream_for, but takes a stream that is being captured, whose number is its handle.
    std::uint64_t identify(stream_handle named);

    /// Returns the stream for allocations, on which nothing ever waits. It is of the highest priority, so that it
    /// shares no queue of the hardware with the program's usual streams.
    stream_handle idle_stream() const noexcept { return idle_; }

    /// Returns a fence after all work on `stream`.
    fence mark(stream_handle stream);

    /// Calls `put`, which puts work on `stream`, and returns what it returns. Where it throws, nothing of that work
    /// goes on any more.
    template <class Put>
    auto all_or_nothing(stream_handle stream, Put put) {
        try {
            return put();
        } catch (...) {
            api().cuStreamSynchronize(stream);
            throw;
        }
    }

    /// Calls `put`, which puts work on `stream`, as all_or_nothing does, and returns a fence after that.
    template <class Put>
    fence queued(stream_handle stream, Put put) {
        return all_or_nothing(stream, [&] {
            put();
            return mark(stream);
        });
    }

    /// Lets this device reach the memory of the other one by itself, where the hardware has a way. Where it has none,
    /// or no more peers can be reached, the driver copies by way of the host.
    void reach(context& other);

    /// Returns a fence after all work submitted to the context, or, where use_streams() has named them, to the
    /// program's streams and the own one. The driver refuses the former while a stream of the context is being
    /// captured, and that capture is broken then: only accesses that name no stream may ask for it, and allocations
    /// that find no room. Whoever waits for such a fence gets this one, too.
    fence mark_all();

    /// Names all streams that the program works on; none: it may work on any.
    void use_streams(std::vector<stream_handle> all);

    /// Tells of each fence that mark_all() makes from now on.
    void tell_of_fences(const fence_listener& told);

    /// Gives pooled memory back: at once, or, where work that nobody has a fence of may use it, with the next
    /// mark_all().
    void free(device_pointer address, bool in_use);

    /// Waits for the memory that is given back, so long at most, and lets the driver have it.
    void trim_pool(std::chrono::nanoseconds timeout = forever);

    /// Makes later work on `stream` wait for `before`. Returns false where that is not of CUDA.
    bool order(const fence& before, stream_handle stream);

private:
    stream_handle make_stream(int priority);
    void check_named(stream_handle named);
    void check_owner(stream_handle named);
    bool is_captured(stream_handle named);
    fence mark_known();
    fence mark_context();
    fence mark_streams();
    void free_after(const fence& all);

    context_handle native_ = nullptr;
    device_ordinal ordinal_;
    std::string description_;
    pool_handle pool_ = nullptr;
    stream_handle own_ = nullptr;
    stream_handle idle_ = nullptr;
    stream_handle freeing_ = nullptr;
    event_pool events_;
    std::mutex reached_mutex_;
    std::vector<const context*> reached_;
    std::mutex to_free_mutex_;
    std::vector<device_pointer> to_free_;
    std::mutex marking_mutex_;  // one fence at a time: what is freed while one is made waits for the next
    std::vector<device_pointer> freed_before_mark_;
    std::vector<fence_listener> told_;
    std::vector<stream_handle> streams_;  // of the program, where it has named all of them
    std::atomic<result> lost_ = success;
    int born_ = process::forks();
};

}  // namespace unibuf::backends::cuda
