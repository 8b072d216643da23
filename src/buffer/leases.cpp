// buffer/leases.cpp: leases that are taken and ended under the lock.
#include "buffer/leases.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>

#include "backends/spaces.hpp"
#include "buffer/hold_waits.hpp"
#include "buffer/passage.hpp"
#include "buffer/recording.hpp"
#include "buffer/usual_answer.hpp"

namespace unibuf::detail {
namespace {

/// Stands for all work of a device up to the moment when somebody waits for it. Where the device could not record its
/// work when a lease ended, whoever needs the bytes next asks it again.
class unrecorded final : public fence::work {
public:
    bool wait(std::chrono::nanoseconds timeout) override {
        const auto id = static_cast<std::uint8_t>(this - all().data());
        return backends::device_of(space::from_id(id)).record({}).wait(timeout);
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

bool is_newest_at(const coherence::knowledge& known, space where) noexcept {
    return known.current == coherence::set_of(where.id()) && known.what == coherence::content::written;
}

/// Ends a lease. `queue_work` notes the work that a lease by the lock leaves behind.
template <class QueueWork>
void end_lease(core& of, std::uint64_t ticket, QueueWork queue_work) {
    bool last = false;
    core_handle kept;  // the last handle may be a standing hold's, and that may end while its bytes go back to it
    {
        lock through(of);
        if (through->holds.any_standing()) kept = another_handle(of);
        if (ticket & gate::by_lock) {
            queue_work(through, ticket >> 1);
        } else {
            of.solo.fetch_and(gate::by_lock, std::memory_order_acq_rel);
        }
        through->tell_waiting();
        last = through.is_last();
    }
    if (last) of.end();
}

}  // namespace

byte_lease take_lease(core& of, const request& asked) {
    check_allowed(of, asked);
    lock through(of);
    bool changes = asked.what != access::read;
    std::uint64_t since = 0;
    if (is_free_and_current(*through, asked)) {
        through->use_now();
        changes = changes && !is_newest_at(through->directory.first(), asked.where);
        const bool is_first = through->used_at(asked.where);
        if (!changes && !is_first) through.keep_gate();
        since = record_access(through, asked);
    } else {
        passage way(through, asked);  // its claim ends before the lease is added: the lock is held between the two
        way.bring();
        since = way.recorded_at();
    }
    std::optional<promise> in;
    if (changes) in.emplace(through->directory, asked.part);
    const copy& there = *through->copies.find(asked.where.id());
    if (there.queues) reserve_queued_work(*through, asked.where);
    const std::uint64_t ticket = through->holds.add({.part = asked.part,
                                                     .on = asked.on,
                                                     .thread = this_thread(),
                                                     .where = asked.where,
                                                     .what = asked.what,
                                                     .since = since});
    if (changes) now_written(*through, *in, asked.part, asked.where);
    return lease_of(of, there, asked, ticket);
}

void reserve_queued_work(guarded& state, space where) {
    const copy* const there = state.copies.find(where.id());
    if (!there || !there->queues) return;
    state.holds.work().reserve(state.holds.size() + 1);
    unrecorded::at(where);
}

bool queue_work_of(guarded& state, space where, const region& part, bool writes, const named_queue& on) noexcept {
    const copy* const there = state.copies.find(where.id());
    if (!there || !there->queues || part.empty()) return false;
    const coherence::queued_work left{.part = part, .where = where.id(), .writes = writes};
    if (state.holds.work().has_late(left, on)) return false;
    fence done = end_of_work(where, on);
    if (!done.native()) return false;
    state.holds.work().add(left, {std::move(done), on});
    return true;
}

void queue_unnamed_work(guarded& state) {
    bool any_out = false;
    for (copy& each : state.copies) {
        const space where = space::from_id(each.where);
        if (each.is_out && each.placed == placement::shared) {
            reserve_queued_work(state, where);
            queue_work_of(state, where, state.whole(), true, {});
        }
        each.is_out &= state.holds.handle_is_out(each.where);
        any_out |= each.is_out;
    }
    state.any_out = any_out;
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

void end_lease_with(core& of, std::uint64_t ticket, work left) {
    end_lease(of, ticket, [&](lock& through, std::uint64_t number) {
        if (left.done.native()) through->holds.work().reserve(through->holds.size());  // this lease is one of them
        const hold ended = through->holds.end(number);
        record_end(*through, ended);
        if (!left.done.native()) return;
        through->holds.work().add({.part = ended.part, .where = ended.where.id(), .writes = ended.what != access::read},
                                  std::move(left));
    });
}

void end_by_lock(gate& of, std::uint64_t ticket) noexcept {
    end_lease(static_cast<core&>(of), ticket, [](lock& through, std::uint64_t number) {
        const hold ended = through->holds.end(number);
        record_end(*through, ended);
        const bool writes = ended.what != access::read;
        if (!queue_work_of(*through, ended.where, ended.part, writes, ended.on)) through.as_before();
    });
}

}  // namespace unibuf::detail
