// buffer/steps.cpp: carries out what the coherence core asks for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "backends/pattern.hpp"
#include "backends/spaces.hpp"
#include "buffer/core_access.hpp"
#include "trace/counters.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::space_id;
using coherence::step;

core::steps::steps(core& of, locked& lock, const demand& asked) : core_(of), lock_(lock), asked_(asked) {}

core::steps::~steps() {
    if (claim_ == 0) return;
    core_.leases_.remove(claim_);
    core_.tell_waiting();
}

void core::steps::run() {
    if (!core_.work_.empty()) core_.work_.forget_done();
    std::vector<step> planned = coherence::plan(core_.directory_, core_.copies_.memories(), core_.work_.ranges(),
                                                asked_.range, asked_.where.id(), asked_.what);
    if (asked_.why == cause::host_pointer) {
        // Where writes are found by comparing, one that changes nothing is not: the device has to have the same memory.
        const bool by_pages = core_.copies_.find(coherence::host)->memory->whole_pages();
        for (step& each : planned) each.found_later = by_pages || each.from == host_in_place_of_device;
    }
    if (planned.empty()) return;
    claim(asked_.range);
    returns_early_ = may_return_early(planned);
    started_.reserve(planned.size());
    try {
        carry_out(planned);
    } catch (const error& failure) {
        tell(failure);
    }
}

/// Where one device carries out all of it, so that what comes later can be ordered behind it there.
bool core::steps::may_return_early(const std::vector<step>& planned) {
    const bool wanted = asked_.may_return_early || (asked_.on && asked_.where != host);
    executor_ = asked_.where.id();
    if (asked_.where == host && core_.any_exposed_) return false;  // what arrives has to be told from what is written
    for (const step& each : planned) {
        if (each.does == step::kind::wait) continue;
        const bool by_way_of_host = each.from != coherence::host && each.to != coherence::host;
        if (each.does == step::kind::move && by_way_of_host) return false;
        if (executor_ == coherence::host) executor_ = executor_of(each);
        if (executor_of(each) != executor_) return false;
    }
    return wanted && executor_ != coherence::host;
}

void core::steps::claim(byte_range range) {
    if (claim_ != 0) return;
    claim_ = core_.leases_.add(
        {.range = range, .thread = this_thread(), .where = asked_.where, .what = asked_.what, .claim = true});
}

void core::steps::carry_out(const std::vector<step>& planned) {
    try {
        for (auto next = planned.begin(); next != planned.end();) {
            // Moves between the same two memories are independent of each other, and may be under way together.
            const auto end = std::find_if(next, planned.end(), [&](const step& each) {
                return each.does != next->does || each.from != next->from || each.to != next->to;
            });
            finish_started();
            start_together({next, end});
            next = end;
        }
    } catch (...) {
        try {
            finish_started();
        } catch (const std::exception&) {  // the first failure is the one to tell of
        }
        throw;
    }
    finish_started();
}

/// A backend does not know of which buffer it failed, nor what for.
void core::steps::tell(const error& failure) const {
    const lease_record wanted{.range = asked_.range, .where = asked_.where, .what = asked_.what};
    throw error(failure.code(),
                fmt::format("{}: {} was asked for: {}", core_.name(), describe(wanted), failure.what()));
}

void core::steps::start_together(std::span<const step> group) {
    if (group.size() > 1 && group[0].does == step::kind::move) return start_moves(group);
    for (const step& each : group) {
        if (each.does == step::kind::wait) {
            wait(each.ticket);
            continue;
        }
        const auto begin = std::chrono::steady_clock::now();
        in_flight now{each, {}, {}};
        if (each.does != step::kind::zero) now.guard = guard(each.range, each.to);
        now.done = each.does == step::kind::move      ? move(each)
                   : each.does == step::kind::publish ? publish(each)
                                                      : zero(each);
        started(std::move(now));
        if (each.does != step::kind::move) continue;
        core_.count(each, asked_.why, {&each.range, 1}, begin, std::chrono::steady_clock::now());
    }
}

/// While bytes arrive at the host that it lacks.
std::optional<host_writes::own_write> core::steps::guard(byte_range range, space_id to) {
    if (to != coherence::host || !core_.any_exposed_) return std::nullopt;
    bool lacks = false;
    core_.directory_.for_each(range, [&](byte_range, const coherence::knowledge& k) {
        lacks |= !coherence::has(k.current, coherence::host);
    });
    if (!lacks) return std::nullopt;
    return std::optional<host_writes::own_write>(std::in_place, *core_.writes(), range);
}

void core::steps::started(in_flight now) {
    const step does = now.step;
    const fence done = now.done;
    started_.push_back(std::move(now));  // There is room. What fails from here on, the step is waited for.
    if (!returns_early_ || !done.native()) return;
    keep_queued(does, done);
    coherence::complete(core_.directory_, core_.copies_.memories(), does);
    started_.pop_back();
}

/// Waits for what was started, and tells the directory.
void core::steps::finish_started() {
    std::exception_ptr failure;
    std::vector<byte_range> done;
    for (auto each = started_.begin(); each != started_.end(); ++each) {
        try {
            if (each->done.native()) {
                const locked::pause unlocked(lock_);
                each->done.wait();
            }
            done.push_back(each->step.range);
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        const auto next = std::next(each);
        if (next != started_.end() && next->step.is_like(each->step)) continue;
        coherence::complete(core_.directory_, core_.copies_.memories(), each->step, byte_ranges::of(std::move(done)));
        done.clear();
    }
    started_.clear();
    if (failure) std::rethrow_exception(failure);
}

fence core::steps::publish(const step& step) {
    const space_id device = executor_of(step);
    const copy& used_by_device = *core_.copies_.find(device);
    trace::count_publication();
    ++core_.with_rare().publications;
    if (used_by_device.on_host()) return {};  // the host in the place of a device
    backends::memory& shared = *used_by_device.memory;
    const locked::pause unlocked(lock_);
    const auto offset = step.range.begin;
    const auto bytes = step.range.size();
    return device == step.from ? shared.publish_to_host(offset, bytes, step.what, queue_at(device))
                               : shared.publish_to_device(offset, bytes, step.what, queue_at(device));
}

fence core::steps::zero(const step& step) {
    const copy& at = *core_.copies_.find(step.to);
    if (core_.copies_.options().uninitialized || (at.untouched && at.memory->starts_zero())) return {};
    static constexpr std::array nothing{std::byte{0}};
    return fill_range(at, step.range, nothing);
}

void core::steps::fill(std::span<const std::byte> pattern) {
    claim(asked_.range);
    copy& at = *core_.copies_.find(asked_.where.id());
    at.untouched = false;
    core_.work_.reserve(core_.leases_.size() + 1);
    fence done;
    try {
        done = fill_range(at, asked_.range, pattern);
    } catch (const error& failure) {
        // Where others have the content, what a fill that failed has left is not relied on.
        const byte_range only = coherence::only_at(core_.directory_, asked_.range, asked_.where.id());
        if (only.empty()) coherence::drop(core_.directory_, asked_.range, asked_.where.id());
        tell(failure);
    }
    if (done.native()) {
        core_.work_.add({.range = asked_.range, .where = asked_.where.id(), .writes = true},
                        {.done = done, .on = {}, .transfer = true});
    }
}

fence core::steps::fill_range(const copy& at, byte_range range, std::span<const std::byte> pattern) {
    backends::memory& memory = *at.memory;
    const space_id where = at.where;
    const bool on_host = at.on_host();
    const auto own = on_host ? guard(range, coherence::host) : std::nullopt;
    const locked::pause unlocked(lock_);
    if (on_host) {
        backends::repeat(pattern, {memory.host_address() + range.begin, range.size()});
        return {};
    }
    return memory.fill(range.begin, range.size(), pattern, queue_at(where));
}

/// What goes on after the call: both ends of it stay as they are until then.
void core::steps::keep_queued(const step& step, const fence& done) {
    const work made{.done = done, .on = asked_.on, .transfer = true};
    core_.work_.reserve(core_.leases_.size() + 2);
    core_.work_.add({.range = step.range, .where = step.to, .writes = true}, made);
    if (step.does != step::kind::zero) core_.work_.add({.range = step.range, .where = step.from}, made);
}

/// The caller's queue, for work of the device that it is of: of an access at the host, the one whose bytes come.
queue core::steps::queue_at(space_id executor) const noexcept {
    return executor == asked_.where.id() || asked_.where == host ? asked_.on : queue{};
}

}  // namespace unibuf::detail
