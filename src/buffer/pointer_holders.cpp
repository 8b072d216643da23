// buffer/pointer_holders.cpp
#include "buffer/pointer_holders.hpp"

#include <algorithm>

namespace unibuf::detail {

void pointer_holders::end_view(byte_range range) noexcept {
    const auto mine = std::ranges::find(views_, range);
    if (mine != views_.end()) views_.erase(mine);
}

bool pointer_holders::any(byte_range range) const noexcept {
    return pointers_.bytes_in(range) != 0 ||
           std::ranges::any_of(views_, [&](byte_range each) { return each.overlaps(range); });
}

byte_ranges pointer_holders::of(byte_range range) const {
    byte_ranges result = pointers_.clipped_to(range);
    for (const byte_range& each : views_) result.add(each.clipped_to(range));
    return result;
}

}  // namespace unibuf::detail
