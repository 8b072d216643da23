// tracking/content_watch.cpp
#include "tracking/content_watch.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace unibuf::tracking {

content_watch::content_watch(std::unique_ptr<watch> by, std::span<const std::byte> memory, const byte_ranges& armed,
                             std::vector<byte_range>& written)
    : by_(std::move(by)), memory_(memory), before_(memory.size() / by_->unit() + 1) {
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
    std::vector<byte_range> found;
    by_->scan(range, found);
    for (const byte_range& each : found) {
        for (byte_range unit = each; unit.begin < each.end; unit.begin = unit.end) {
            const std::size_t index = unit.begin / by_->unit();
            unit.end = std::min(each.end, (index + 1) * by_->unit());
            if (hash_of(index) != before_[index]) written.push_back(unit);
        }
    }
}

bool content_watch::any_written(byte_range range) {
    return by_->any_written(range);  // leaves it for the next scan, which looks at the contents
}

void content_watch::look_at(byte_range range) {
    const std::size_t end = std::min(range.end, memory_.size());
    for (std::size_t i = range.begin / by_->unit(); i * by_->unit() < end; ++i) before_[i] = hash_of(i);
}

std::uint64_t content_watch::hash_of(std::size_t unit) const noexcept {
    const std::size_t begin = unit * by_->unit();
    const auto bytes = memory_.subspan(begin, std::min(by_->unit(), memory_.size() - begin));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return std::hash<std::string_view>{}(text);
}

}  // namespace unibuf::tracking
