// backends/cuda/event.cpp
#include "backends/cuda/event.hpp"

#include "backends/cuda/context.hpp"
#include "backends/poll.hpp"

namespace unibuf::backends::cuda {
namespace {

// A wait for work of the card stays awake for so long, as the driver's own waits do without end: to fall asleep and be
// woken by the card takes longer than a small copy does. Longer waits leave the core to others.
constexpr std::chrono::milliseconds worth_a_core(2);

}  // namespace

event_handle event_pool::take() {
    {
        const std::scoped_lock lock(mutex_);
        if (!unused_.empty()) {
            const event_handle taken = unused_.back();
            unused_.pop_back();
            return taken;
        }
    }
    std::vector<event_handle> made = make_some();
    const event_handle taken = made.back();
    made.pop_back();
    for (const event_handle each : made) give_back(each);
    return taken;
}

/// Makes as many as the driver gives.
std::vector<event_handle> event_pool::make_some() {
    constexpr std::size_t at_a_time = 1000;
    std::vector<event_handle> all;
    all.reserve(at_a_time);
    while (all.size() < at_a_time) {
        event_handle made = nullptr;
        const result status = api().cuEventCreate(&made, event_disable_timing | event_blocking_sync);
        if (status != success && all.empty()) fail(status, "CUDA cannot make an event");
        if (status != success) break;
        all.push_back(made);
    }
    return all;
}

void event_pool::give_back(event_handle unused) noexcept {
    try {
        const std::scoped_lock lock(mutex_);
        unused_.push_back(unused);
    } catch (const std::bad_alloc&) {  // one event is lost
    }
}

queued_work::queued_work(context& in) : in_(in), done_(in.events().take()) {}
queued_work::~queued_work() { in_.events().give_back(done_); }

/// Where the driver cannot tell, the work is over when this throws, so that the caller takes it as failed, and goes on.
void queued_work::check(result status) const {
    if (status != success && !is_lost(status)) api().cuCtxSynchronize();
    in_.check(status, "work that was queued before failed");
}

bool queued_work::done() const {
    const result status = api().cuEventQuery(done_);
    if (status == not_ready) return false;
    check(status);
    was_done_.store(true, std::memory_order_release);
    return true;
}

bool queued_work::wait(std::chrono::nanoseconds timeout) {
    if (was_done_.load(std::memory_order_acquire)) return true;
    const context::scope current(in_);
    if (timeout == forever) {
        if (is_done_soon([this] { return done(); }, worth_a_core)) return true;
        check(api().cuEventSynchronize(done_));
        return done();
    }
    return poll(timeout, [this] { return done(); }, worth_a_core);
}

}  // namespace unibuf::backends::cuda
