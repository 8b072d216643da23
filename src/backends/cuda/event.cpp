// backends/cuda/event.cpp: events, and the fences made of them.
#include "backends/cuda/event.hpp"

#include "backends/cuda/context.hpp"
#include "backends/poll.hpp"

namespace unibuf::backends::cuda {
namespace {

// A wait for work of the card stays awake for so long, as the driver's own waits do without end: to fall asleep and be
// woken by the card takes longer than a small copy does. Longer waits nap, and leave the core to others. An event that
// wakes a thread by itself (CU_EVENT_BLOCKING_SYNC) would be quicker, but a driver takes few of those behind a stream
// that is held back, and then stops the host.
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
    event_handle made = nullptr;
    const result status = api().cuEventCreate(&made, event_disable_timing);
    if (status != success) fail(status, "CUDA cannot make an event");
    return made;
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
    return poll(timeout, [this] { return done(); }, worth_a_core);
}

}  // namespace unibuf::backends::cuda
