// buffer/leases.cpp: leases that go by the lock.
#include "buffer/leases.hpp"

#include <memory>
#include <mutex>
#include <optional>

#include "backends/spaces.hpp"
#include "buffer/passage.hpp"

namespace unibuf::detail {
namespace {

/// Asks the device for a fence when somebody waits, as it could give none before.
class unrecorded final : public fence::work {
public:
    explicit unrecorded(backends::device& of) noexcept : of_(of) {}
    bool wait(std::chrono::nanoseconds timeout) override {
        const std::scoped_lock lock(mutex_);
        if (!recorded_) recorded_ = of_.record({});
        return recorded_->wait(timeout);
    }

private:
    std::mutex mutex_;
    backends::device& of_;
    std::optional<fence> recorded_;
};

void end_lease(core& of, std::uint64_t ticket) noexcept {
    bool last = false;
    {
        lock through(of);
        if (ticket & gate::by_lock) {
            const hold ended = through->holds.remove(ticket >> 1);
            queue_work_of(through, ended.where, ended.range, ended.what != access::read, ended.on);
        } else {
            of.solo.fetch_and(gate::by_lock, std::memory_order_acq_rel);
        }
        through->tell_waiting();
        last = through.is_last();
    }
    if (last) of.end();
}

}  // namespace

lease_bytes take_lease(core& of, const request& asked) {
    lock through(of);
    passage way(through, asked);
    way.bring();
    if (backends::device_of(asked.where).about().asynchronous) {
        through->holds.work().reserve(through->holds.size() + 1);
    }
    const std::uint64_t ticket = through->holds.add(
        {.range = asked.range, .on = asked.on, .thread = this_thread(), .where = asked.where, .what = asked.what});
    if (asked.what != access::read && !asked.begins_later) {
        try {
            now_written(through, asked.range, asked.where);
        } catch (...) {
            through->holds.remove(ticket);
            throw;
        }
    }
    const copy& there = *way.at();
    std::byte* const address = there.address();
    const native_memory native{
        .where = asked.where, .handle = there.handle(), .offset = asked.range.begin, .bytes = asked.range.size()};
    return lease_bytes(of, ticket << 1 | gate::by_lock, asked.what, address ? address + asked.range.begin : nullptr,
                       native);
}

void begin_lease(core& of, const request& leased) {
    lock through(of);
    if (leased.what != access::read) now_written(through, leased.range, leased.where);
}

void queue_work_of(lock& through, space where, byte_range range, bool writes, queue on) noexcept {
    backends::device& device = backends::device_of(where);
    if (!device.about().asynchronous || range.empty()) return;
    fence done;
    try {
        done = device.record(on);
    } catch (const std::exception&) {
        done = fence(std::make_shared<unrecorded>(device));
    }
    if (!done.native()) return;
    through->holds.work().add({.range = range, .where = where.id(), .writes = writes}, {.done = done, .on = on});
}

void end_by_lock(gate& of, std::uint64_t ticket) noexcept { end_lease(static_cast<core&>(of), ticket); }

}  // namespace unibuf::detail
