// backends/cuda/event.hpp: events, and the fences made of them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "backends/cuda/api.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends::cuda {

class context;

/// Keeps events of one context that nobody uses: making one costs a microsecond, taking one from here does not.
class event_pool {
public:
    /// Gives an event. The context has to be current.
    event_handle take();
    void give_back(event_handle unused) noexcept;

private:
    std::mutex mutex_;
    std::vector<event_handle> unused_;
};

/// The queued work before an event.
class queued_work final : public upload_work {
public:
    /// Makes work whose event is not recorded yet. The context has to be current.
    explicit queued_work(context& in);
    ~queued_work() override;
    queued_work(const queued_work&) = delete;
    queued_work& operator=(const queued_work&) = delete;

    bool wait(std::chrono::nanoseconds timeout) override;

    event_handle native() const noexcept { return done_; }

private:
    void check(result status) const;
    bool done() const;

    context& in_;
    event_handle done_;
    mutable std::atomic<bool> was_done_ = false;  // thousands of buffers of a batch share this work, and each one asks
};

}  // namespace unibuf::backends::cuda
