// buffer/counts.cpp: the counters of one buffer, and those of all.
#include "buffer/counts.hpp"

#include <algorithm>

#include "trace/counters.hpp"

namespace unibuf::detail {

void count_transfers(lock& through, const coherence::step& of, cause why, std::span<const byte_range> moved,
                     std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
    std::vector<transfer_count>& counts = through->transfers;
    transfer made{.buffer = through.of().id(),
                  .from = space::from_id(of.from),
                  .to = space::from_id(of.to),
                  .why = why,
                  .begin = begin,
                  .end = end};
    std::uint64_t sum = 0;
    for (const byte_range& each : moved) sum += each.size();
    trace::count_transfers(made.from, made.to, made.why, moved.size(), sum);
    const auto same = std::ranges::find_if(counts, [&](const transfer_count& each) {
        return each.from == made.from && each.to == made.to && each.why == made.why;
    });
    if (same != counts.end()) {
        same->transfers += moved.size();
        same->bytes += sum;
    } else {
        counts.push_back({made.from, made.to, made.why, moved.size(), sum});
    }
    transfer_observer* const observer = trace::observer();
    if (!observer) return;
    for (const byte_range& each : moved) {
        made.offset = each.begin;
        made.bytes = each.size();
        observer->on_transfer(made);
    }
}

}  // namespace unibuf::detail
