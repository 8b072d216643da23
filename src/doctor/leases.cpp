// doctor/leases.cpp: finds the lease that an access has waited for.
#include "doctor/leases.hpp"

#include <algorithm>
#include <iterator>

namespace unibuf::doctor {
namespace {

constexpr std::size_t most_looked_at = 1000;  // ends, for one wait

}  // namespace

leases::leases(std::span<const event* const> of) {
    for (const event* const each : of) {
        if (each->kind == event_kind::lease_end) ends_.push_back(each);
        if (each->kind == event_kind::access) begins_[key_of(*each)].push_back(each);
    }
}

const event* leases::awaited_by(const event& wait) const {
    const std::uint64_t begin = wait.time - wait.took;
    auto each = std::ranges::upper_bound(ends_, wait.time, {}, &event::time);
    for (std::size_t looked_at = 0; each != ends_.begin() && looked_at < most_looked_at; ++looked_at) {
        const event& end = **--each;
        if (end.time < begin) break;
        const bool excludes = end.what != access::read || wait.what != access::read;
        if (excludes && end.thread != wait.thread && end.begin < wait.end && wait.begin < end.end) return &end;
    }
    return nullptr;
}

const event* leases::begin_of(const event& end) const {
    const auto known = begins_.find(key_of(end));
    if (known == begins_.end()) return nullptr;
    // Any thread may end it. Of several that began alike, it is the one that began when this one did.
    const auto [first, behind] = std::ranges::equal_range(known->second, end.time - end.took, {}, &event::time);
    if (first != behind) return *first;
    return behind == known->second.begin() ? nullptr : *std::prev(behind);
}

}  // namespace unibuf::doctor
