// access/queued_work.cpp: notes work that the program has given a device, and waits for it where a buffer ends.
#include "access/queued_work.hpp"

#include <array>
#include <memory>

#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

/// Stands for all work of a device up to the moment when somebody waits for it. Where the device could not record its
/// work when a lease ended, whoever needs the bytes next asks it again.
class unrecorded final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds timeout) override {
        const auto id = static_cast<std::uint8_t>(this - all().data());
        backends::device& device = backends::device_of(space::from_id(id));
        try {
            return device.record({}).wait(timeout);
        } catch (const error&) {
            if (!device.is_gone()) throw;
            return true;  // so has the work
        }
    }

    /// There is one object for each device, which nobody owns. The first call needs memory.
    static fence at(space where) {
        return fence(std::shared_ptr<fence::work>(std::shared_ptr<void>(), &all()[where.id()]));
    }

private:
    static std::array<unrecorded, max_spaces>& all() {
        static auto& made = *new std::array<unrecorded, max_spaces>;
        return made;
    }
};

/// Returns a fence after all that the device was given to do until now. Needs memory where unrecorded::at was not
/// called.
fence end_of_work(space where, queue on) {
    try {
        return backends::device_of(where).record_later(on);
    } catch (const std::exception&) {
        return unrecorded::at(where);
    }
}

}  // namespace

void reserve_queued_work(guarded& state, space where) {
    const copy* const its_copy = state.copies.find(where.id());
    if (!its_copy || !its_copy->queues) return;
    state.holds.work().reserve(state.holds.size() + 1);
    unrecorded::at(where);
}

bool queue_work_of(guarded& state, space where, const region& part, bool writes, const named_queue& on) noexcept {
    const copy* const its_copy = state.copies.find(where.id());
    if (!its_copy || !its_copy->queues || part.empty()) return false;
    const coherence::queued_work left{.part = part, .where = where.id(), .writes = writes};
    if (state.holds.work().has_late(left, on)) return false;
    fence done = end_of_work(where, on);
    if (!done.native()) return false;
    state.holds.work().add(left, {std::move(done), on});
    return true;
}

void queue_unnamed_work(guarded& state) {
    bool any_handed_out = false;
    for (copy& each : state.copies) {
        const space where = space::from_id(each.where);
        if (each.is_out && each.placed == placement::shared) {
            reserve_queued_work(state, where);
            queue_work_of(state, where, state.whole(), true, {});
        }
        each.is_out &= state.holds.handle_is_out(each.where);
        any_handed_out |= each.is_out;
    }
    state.any_handed_out = any_handed_out;
}

void wait_for_unnamed_work(const guarded& state) noexcept {
    for (const copy& each : state.copies) {
        const space where = space::from_id(each.where);
        const bool in_host_memory = each.placed == placement::shared && each.lender == coherence::host;
        if (!each.is_out || !each.queues || !in_host_memory) continue;
        if (state.copies.find(coherence::host)->memory->keeps_for_work_of(where)) continue;
        try {
            end_of_work(where, {}).wait();
        } catch (const std::exception&) {  // the device has gone, and what was on it
        }
    }
}

}  // namespace unibuf::detail
