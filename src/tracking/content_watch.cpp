// tracking/content_watch.cpp
#include "tracking/content_watch.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace unibuf::tracking {

content_watch::content_watch(std::unique_ptr<watch> by, std::span<const std::byte> memory, const byte_ranges& armed,
                             std::vector<byte_range>& written)
    : by_(std::move(by)), units_(by_->in_units()), memory_(memory), before_(memory.size() / units_.each + 2) {
    for (const byte_range& each : armed) {
        look_at(each);
        by_->scan(each, written);  // what is written after the look, and before the scan, is found by it
    }
}

void content_watch::arm(byte_range range) {
    look_at(range);
    by_->arm(range);
}

void content_watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    look_at(range);
    by_->arm_fresh(range, found);
}

void content_watch::scan(byte_range range, std::vector<byte_range>& written) {
    by_->scan(range, seen_);
    const std::size_t others = written.size();
    try {
        for (const byte_range& each : seen_) {
            for (std::size_t at = each.begin; at < each.end; at = units_.of(at).end) {
                const byte_range unit = units_.of(at);
                if (hash_of(unit) != before(unit)) written.push_back(unit);
            }
        }
    } catch (...) {
        written.resize(others);
        throw;
    }
    empty_out(seen_);
}

bool content_watch::any_written(byte_range range) {
    return by_->any_written(range);  // leaves it for the next scan, which looks at the contents
}

void content_watch::look_at(byte_range range) {
    const std::size_t end = std::min(range.end, memory_.size());
    for (std::size_t at = range.begin; at < end; at = units_.of(at).end) before(units_.of(at)) = hash_of(units_.of(at));
}

/// The unit before the first whole one has a place of its own.
std::uint64_t& content_watch::before(byte_range unit) noexcept {
    return before_[unit.begin < units_.lead ? 0 : (unit.begin - units_.lead) / units_.each + 1];
}

std::uint64_t content_watch::hash_of(byte_range unit) const noexcept {
    const auto bytes = memory_.subspan(unit.begin, unit.size());
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::hash<std::string_view>{}(text);
}

}  // namespace unibuf::tracking
