// access/counts.cpp: the counters of one buffer, and those of all buffers.
#include "access/counts.hpp"

#include <new>

#include "access/recording.hpp"
#include "access/transfers.hpp"
#include "trace/contents.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

/// Returns the tally of transfers like `made`; null where it is the first, and there is no memory for a tally.
transfer_tally* of_kind(std::forward_list<transfer_tally>& all, const transfer& made) noexcept {
    const auto why = static_cast<std::uint8_t>(made.why);
    auto last = all.before_begin();
    for (auto each = all.begin(); each != all.end(); last = each++) {
        if (each->from == made.from.id() && each->to == made.to.id() && each->why == why) return &*each;
    }
    try {
        return &*all.insert_after(last, transfer_tally{.from = made.from.id(), .to = made.to.id(), .why = why});
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

/// Says what only traces in files have: how the bytes went, and, of those of the host that are there, what is news.
void look_closely(const guarded& state, const coherence::step& of, const region& part, const carried_out& how,
                  event& made) noexcept {
    const backends::memory& device = *state.copies.find(executor_of(of))->memory;
    if (of.from != coherence::host && of.to != coherence::host) {
        const bool reaches = device.takes_from(*state.copies.find(of.from)->memory);
        made.route = reaches ? transfer_route::direct : transfer_route::by_host;
        return;
    }
    const byte_range hull = part.hull();
    const bool is_packed = how.program != nullptr;
    const std::byte* const first =
        is_packed ? how.program : state.copies.find(coherence::host)->memory->host_address() + hull.begin;
    made.route = device.route_of({first, is_packed ? part.size() : hull.size()});
    if (!trace::is_close() || (of.to == coherence::host && !how.arrived)) return;
    const auto news = trace::changed_in(made.buffer, executor_of(of), part, first, is_packed, state.whole().size());
    made.news = news ? *news + 1 : 0;
}

void record_transfer(lock& locked, const coherence::step& of, const transfer& counted, const region& part,
                     const carried_out& how) noexcept {
    if (!trace::is_on()) return;
    event made = event_of(event_kind::transfer, counted.buffer, part);
    made.why = counted.why;
    made.from = of.from;
    made.to = of.to;
    made.queue = reinterpret_cast<std::uintptr_t>(how.on.native);
    made.time = static_cast<std::uint64_t>(counted.end.time_since_epoch() / std::chrono::nanoseconds(1));
    made.took = static_cast<std::uint64_t>((counted.end - counted.begin) / std::chrono::nanoseconds(1));
    if (is_tracing()) look_closely(*locked, of, part, how, made);
    trace::record(made, locked.recorded);
}

}  // namespace

void count_transfers(lock& locked, const coherence::step& of, std::span<const region> moved,
                     const carried_out& how) noexcept {
    guarded& state = *locked;
    transfer made{.buffer = state.id,
                  .from = space::from_id(of.from),
                  .to = space::from_id(of.to),
                  .why = how.why,
                  .begin = how.begin,
                  .end = how.end};
    const std::uint64_t sum = bytes_in(moved);
    trace::count_transfers(made.from, made.to, made.why, moved.size(), sum);
    if (transfer_tally* const same = of_kind(state.transfers, made)) {
        same->transfers = (same->transfers + moved.size()) & transfer_tally::most;
        same->bytes += sum;
    }
    for (const region& each : moved) record_transfer(locked, of, made, each, how);
    transfer_observer* const observer = trace::observer();
    if (!observer) return;
    locked.recorded.time = 0;  // an observer takes time
    for (const region& each : moved) {
        made.offset = each.begin();
        made.bytes = each.size();
        observer->on_transfer(made);
    }
}

}  // namespace unibuf::detail
