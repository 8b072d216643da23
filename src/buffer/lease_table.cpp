// buffer/lease_table.cpp
#include "buffer/lease_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "unibuf/detail/gate.hpp"

namespace unibuf::detail {

std::string describe(const lease_record& lease) {
    static constexpr const char* names[] = {"", "read", "write", "read-write"};
    return fmt::format("a {} {} of bytes [{}, {}) at {}", names[static_cast<int>(lease.what)],
                       lease.claim ? "transfer" : "lease", lease.range.begin, lease.range.end, lease.where.name());
}

std::uint64_t lease_table::add(lease_record record) {
    record.ticket = ++last_;
    records_.push_back(record);
    return record.ticket;
}

lease_record lease_table::remove(std::uint64_t ticket) noexcept {
    const auto found = std::ranges::find(records_, ticket, &lease_record::ticket);
    const lease_record result = *found;
    *found = records_.back();
    records_.pop_back();
    return result;
}

bool lease_table::any_other(byte_range range, std::uint64_t ticket) const noexcept {
    return std::ranges::any_of(
        records_, [&](const lease_record& each) { return each.ticket != ticket && each.range.overlaps(range); });
}

bool lease_table::any_claim() const noexcept { return std::ranges::any_of(records_, &lease_record::claim); }

bool lease_table::any_at(space where) const noexcept {
    return std::ranges::any_of(
        records_, [&](const lease_record& each) { return !each.claim && each.where == where && !each.range.empty(); });
}

bool lease_table::of_this_thread_at(space where) const noexcept {
    return std::ranges::any_of(records_, [&](const lease_record& each) {
        return !each.claim && each.where == where && each.thread == this_thread();
    });
}

const lease_record* lease_table::excluding(byte_range range, access what, std::uint32_t thread) const noexcept {
    const lease_record* result = nullptr;
    for (const lease_record& each : records_) {
        if (!each.excludes(range, what)) continue;
        if (each.thread == thread) return &each;
        result = &each;
    }
    return result;
}

}  // namespace unibuf::detail
