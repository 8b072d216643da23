// buffer/counts.cpp: the counters of one buffer, and those of all buffers.
#include "buffer/counts.hpp"

#include <algorithm>

#include "trace/counters.hpp"

namespace unibuf::detail {
namespace {

transfer_count& of_kind(transfer_counts& all, const transfer& made) {
    const auto is_same = [&](const transfer_count& each) {
        return each.from == made.from && each.to == made.to && each.why == made.why;
    };
    if (all.first.transfers == 0) all.first = {made.from, made.to, made.why};
    if (is_same(all.first)) return all.first;
    if (!all.more) all.more = std::make_unique<std::vector<transfer_count>>();
    const auto found = std::ranges::find_if(*all.more, is_same);
    return found != all.more->end() ? *found : all.more->emplace_back(transfer_count{made.from, made.to, made.why});
}

}  // namespace

std::vector<transfer_count> transfer_counts::all() const {
    std::vector<transfer_count> result;
    if (first.transfers != 0) result.push_back(first);
    if (more) result.insert(result.end(), more->begin(), more->end());
    return result;
}

void count_transfers(lock& through, const coherence::step& of, cause why, std::span<const byte_range> moved,
                     std::chrono::steady_clock::time_point begin, std::chrono::steady_clock::time_point end) {
    transfer made{.buffer = through.of().id(),
                  .from = space::from_id(of.from),
                  .to = space::from_id(of.to),
                  .why = why,
                  .begin = begin,
                  .end = end};
    std::uint64_t sum = 0;
    for (const byte_range& each : moved) sum += each.size();
    trace::count_transfers(made.from, made.to, made.why, moved.size(), sum);
    transfer_count& same = of_kind(through->transfers, made);
    same.transfers += moved.size();
    same.bytes += sum;
    transfer_observer* const observer = trace::observer();
    if (!observer) return;
    for (const byte_range& each : moved) {
        made.offset = each.begin;
        made.bytes = each.size();
        observer->on_transfer(made);
    }
}

}  // namespace unibuf::detail
