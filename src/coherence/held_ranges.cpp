// coherence/held_ranges.cpp: which bytes somebody may touch at any time, without a word.
#include "coherence/held_ranges.hpp"

namespace unibuf {

bool held_ranges::any(const region& part) const noexcept {
    bool pointed = false;
    if (any_pointer()) part.for_each_run([&](byte_range run) { pointed |= pointers_.bytes_in(run) != 0; });
    return pointed || any_view(part);
}

byte_ranges held_ranges::of(byte_range range) const {
    byte_ranges result = pointers_.clipped_to(range);
    byte_ranges viewed;
    ranges_.for_each_run(range, [&](byte_range run) { viewed.add(run); });
    result.add(viewed);
    boxes_.any(range, [&](const held_view& each) {
        result.add(runs_of(each.part, range));
        return false;
    });
    return result;
}

byte_ranges held_ranges::unseen_of(byte_range range) const {
    byte_ranges result;
    if (unseen_ == 0) return result;
    any_view(region(range), [&](const held_view& each) {
        if (each.unseen) result.add(runs_of(each.part, range));
        return false;
    });
    return result;
}

}  // namespace unibuf
