// tracking/edged.cpp
#include "tracking/edged.hpp"
#include "system/pages.hpp"

#include <cstdint>

namespace unibuf::tracking {

byte_range edged_watch::whole_pages_of(std::span<std::byte> memory) noexcept {
    const std::size_t page = system::page_size();
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    if (memory.size() < before) return {};
    return {before, before + (memory.size() - before) / page * page};
}

edged_watch::edged_watch(std::span<std::byte> memory, byte_range pages)
    : bytes_(memory.size()),
      pages_(pages),
      before_(memory, {0, pages.begin}),
      inside_(memory.subspan(pages.begin, pages.size()), page_watch::of::own_mapping),
      after_(memory, {pages.end, memory.size()}) {}

units edged_watch::in_units() const noexcept {
    return {.each = system::page_size(), .memory = bytes_, .lead = pages_.begin};
}

byte_ranges edged_watch::compared() const {
    byte_ranges result;
    result.add(before_.range);
    for (const byte_range& each : inside_.compared()) result.add({each.begin + pages_.begin, each.end + pages_.begin});
    result.add(after_.range);
    return result;
}

/// Returns which bytes of the whole pages are in `range`; none where it is empty.
byte_range edged_watch::inside(byte_range range) const noexcept {
    if (!pages_.overlaps(range)) return {};
    range = range.clipped_to(pages_);
    return {range.begin - pages_.begin, range.end - pages_.begin};
}

bool edged_watch::compares_any_of(byte_range range) const noexcept {
    const byte_range pages = inside(range);
    return before_.has_any_of(range) || after_.has_any_of(range) || (!pages.empty() && inside_.compares_any_of(pages));
}

void edged_watch::copy_images(byte_range range, std::byte* to) const noexcept {
    for (const end* each : {&before_, &after_}) {
        const byte_range own = range.clipped_to(each->range);
        if (own.empty()) continue;
        each->by.copy_images({own.begin - each->range.begin, own.end - each->range.begin},
                             to + (own.begin - range.begin));
    }
    const byte_range pages = inside(range);
    if (!pages.empty()) inside_.copy_images(pages, to + (pages.begin + pages_.begin - range.begin));
}

void edged_watch::arm(byte_range range) {
    if (before_.has_any_of(range)) before_.by.arm(before_.all());
    if (const byte_range pages = inside(range); !pages.empty()) inside_.arm(pages);
    if (after_.has_any_of(range)) after_.by.arm(after_.all());
}

void edged_watch::disarm(byte_range range) {
    if (const byte_range pages = inside(range); !pages.empty()) inside_.disarm(pages);
}

/// Adds what `at` finds of `range` in each part of the memory. An end is found as a whole.
template <class Look>
void edged_watch::look(byte_range range, std::vector<byte_range>& found, Look at) {
    const auto look_at = [&](end& each) {
        if (!each.has_any_of(range)) return;
        make_room(found, 1);
        std::vector<byte_range> lines;
        at(each.by, each.all(), lines);
        if (!lines.empty()) append(found, each.range);
    };
    look_at(before_);
    if (const byte_range pages = inside(range); !pages.empty()) at(inside_, pages, seen_);
    make_room(found, seen_.size());
    for (const byte_range& each : seen_) append(found, {each.begin + pages_.begin, each.end + pages_.begin});
    empty_out(seen_);
    look_at(after_);
}

void edged_watch::scan(byte_range range, std::vector<byte_range>& written) {
    look(range, written, [](watch& by, byte_range part, auto& found) { by.scan(part, found); });
}

bool edged_watch::any_written(byte_range range) {
    const byte_range pages = inside(range);
    return (before_.has_any_of(range) && before_.by.any_written(before_.all())) ||
           (!pages.empty() && inside_.any_written(pages)) ||
           (after_.has_any_of(range) && after_.by.any_written(after_.all()));
}

void edged_watch::touched(byte_range range, std::vector<byte_range>& found) {
    look(range, found, [](watch& by, byte_range part, auto& seen) { by.touched(part, seen); });
}

void edged_watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    look(range, found, [](watch& by, byte_range part, auto& seen) { by.arm_fresh(part, seen); });
}

}  // namespace unibuf::tracking
