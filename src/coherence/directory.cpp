// coherence/directory.cpp
#include "coherence/directory.hpp"

#include <algorithm>

namespace unibuf::coherence {

/// The range that holds `offset`.
std::size_t directory::index_at(std::size_t offset) const noexcept {
    const auto after = std::ranges::upper_bound(later_, offset, {}, &segment::begin);
    return static_cast<std::size_t>(after - later_.begin());
}

/// Makes a range begin at `offset`, and gives its index.
std::size_t directory::split(std::size_t offset) {
    if (offset >= bytes_) return ranges();
    const std::size_t index = index_at(offset);
    if (begin_of(index) == offset) return index;
    later_.insert(later_.begin() + static_cast<std::ptrdiff_t>(index), segment{offset, known(index)});
    return index + 1;
}

/// Joins equal neighbours among the ranges [first, last) and the two beside them.
void directory::join(std::size_t first, std::size_t last) {
    std::size_t kept = first ? first - 1 : 0;
    const std::size_t end = std::min(last + 1, ranges());
    for (std::size_t i = kept + 1; i < end; ++i) {
        if (known(i) == known(kept)) continue;
        ++kept;
        if (kept != i) later_[kept - 1] = later_[i - 1];
    }
    if (kept + 1 < end) {
        later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(kept),
                     later_.begin() + static_cast<std::ptrdiff_t>(end - 1));
        give_back();
    }
}

/// Makes them all there are; neighbours differ.
void directory::replace(const std::vector<segment>& all) {
    if (all.empty()) return;
    later_.assign(all.begin() + 1, all.end());
    first_ = all.front().known;
    give_back();
}

/// Memory that was needed once, and is not any more.
void directory::give_back() {
    constexpr std::size_t worth_it = 64;
    if (later_.capacity() > worth_it && later_.size() < later_.capacity() / 4) later_.shrink_to_fit();
}

}  // namespace unibuf::coherence
