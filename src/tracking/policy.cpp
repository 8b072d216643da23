// tracking/policy.cpp: decides which sections of a buffer are watched, and which are taken for written.
#include "tracking/policy.hpp"

#include <algorithm>

namespace unibuf::tracking {
namespace {

constexpr std::uint8_t dense_enough = 2;  // rounds until it is believed
constexpr std::uint8_t first_pause = 4;   // rounds
constexpr std::uint8_t longest_pause = 255;

/// Returns whether most of a section was written. A fault costs as much as to transfer two or three pages, so that in
/// time alone a quarter would do. But bytes that nobody wrote are not to move without need, and some devices are behind
/// a slow bus.
bool dense(std::size_t written, std::size_t units) noexcept { return written * 4 >= units * 3; }

}  // namespace

coherence::pointers exposure_of(const coherence::knowledge& k, const new_pointer& given) noexcept {
    using coherence::content;
    using coherence::pointers;
    if (!given.finds_writes) return pointers::assumed;
    const bool unwritten = k.what == content::unwritten;
    if (unwritten && !given.values_known && (given.was_used || given.compares)) return pointers::assumed;
    if (unwritten && (given.was_used || given.untouched)) return pointers::fresh;
    // All of the bytes move at the next access elsewhere.
    if (k.what == content::written && k.current == coherence::set_of(coherence::host)) return pointers::assumed;
    return pointers::watched;
}

bool watch_next(section_history& of, bool was_watched, std::size_t written, std::size_t bytes) noexcept {
    return watch_next(of, was_watched, dense(written, bytes));
}

bool watch_next(section_history& of, bool was_watched, bool in_vain) noexcept {
    if (!was_watched) {
        if (of.rounds_left == 0) return true;
        --of.rounds_left;
        return of.rounds_left == 0;
    }
    if (!in_vain) {
        of = {};
        return true;
    }
    of.dense_rounds = static_cast<std::uint8_t>(std::min(of.dense_rounds + 1, int{dense_enough}));
    if (of.dense_rounds < dense_enough) return true;
    const std::uint8_t pause = std::max(of.next_pause, first_pause);
    of.rounds_left = pause;
    of.next_pause = static_cast<std::uint8_t>(std::min(2 * pause, int{longest_pause}));
    return false;
}

byte_range sections::begin_anew_beside(byte_range written, byte_range range) noexcept {
    const std::size_t first = range.begin / section_bytes;
    const std::size_t last = (range.end - 1) / section_bytes;
    const std::size_t first_written = written.empty() ? last + 1 : written.begin / section_bytes;
    const std::size_t last_written = written.empty() ? last : (written.end - 1) / section_bytes;
    const auto at = [this](std::size_t section) { return all_.begin() + static_cast<std::ptrdiff_t>(section); };
    std::fill(at(first), at(first_written), section_history());
    std::fill(at(last_written + 1), at(last + 1), section_history());
    return range.clipped_to({first_written * section_bytes, (last_written + 1) * section_bytes});
}

}  // namespace unibuf::tracking
