// buffer/counts.cpp: the counters of one buffer, and those of all buffers.
#include "buffer/counts.hpp"

#include <algorithm>

#include "buffer/recording.hpp"
#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

transfer_count& of_kind(transfer_counts& all, const transfer& made) {
    if (!all) all = std::make_unique<std::vector<transfer_count>>();
    const auto found = std::ranges::find_if(*all, [&](const transfer_count& each) {
        return each.from == made.from && each.to == made.to && each.why == made.why;
    });
    return found != all->end() ? *found : all->emplace_back(transfer_count{made.from, made.to, made.why});
}

void record_transfer(const transfer& of, const region& part, std::chrono::nanoseconds took) noexcept {
    if (!trace::is_on()) return;
    event made = event_of(event_kind::transfer, of.buffer, part);
    made.why = of.why;
    made.from = of.from.id();
    made.to = of.to.id();
    made.took = static_cast<std::uint64_t>(took.count());
    trace::record(made);
}

}  // namespace

void count_transfers(lock& through, const coherence::step& of, cause why, std::span<const region> moved,
                     std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
    transfer made{.buffer = through.of().id(),
                  .from = space::from_id(of.from),
                  .to = space::from_id(of.to),
                  .why = why,
                  .begin = begin,
                  .end = end};
    std::uint64_t sum = 0;
    for (const region& each : moved) sum += each.size();
    trace::count_transfers(made.from, made.to, made.why, moved.size(), sum);
    transfer_count& same = of_kind(through->transfers, made);
    same.transfers += moved.size();
    same.bytes += sum;
    for (const region& each : moved) record_transfer(made, each, end - begin);
    transfer_observer* const observer = trace::observer();
    if (!observer) return;
    for (const region& each : moved) {
        made.offset = each.begin();
        made.bytes = each.size();
        observer->on_transfer(made);
    }
}

}  // namespace unibuf::detail
