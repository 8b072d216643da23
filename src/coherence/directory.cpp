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
    if (later_.empty()) shares_.assign(1, {first_, bytes_});
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
    std::erase_if(shares_, [](const share& each) { return each.bytes == 0; });
}

/// That of what is known like `k`.
directory::share& directory::share_of(const knowledge& k) {
    const auto found = std::ranges::find(shares_, k, &share::known);
    return found != shares_.end() ? *found : shares_.emplace_back(share{k, 0});
}

/// So many bytes are known otherwise; both kinds have a share.
void directory::count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept {
    if (before == after) return;
    std::ranges::find(shares_, before, &share::known)->bytes -= bytes;
    std::ranges::find(shares_, after, &share::known)->bytes += bytes;
}

summary directory::summarize() const noexcept {
    summary result;
    result.current = ~space_set{0};
    bool first = true;
    const auto add = [&](const knowledge& k) {
        const space_set writer = k.what == content::written ? k.current : 0;
        result.written_by = first || result.written_by == writer ? writer : 0;
        first = false;
        result.current &= k.current;
        result.all_exposed &= k.exposed();
        result.all_assumed &= k.out == pointers::assumed;
        result.any_exposed |= k.exposed();
        result.any_open |= k.open;
        result.any_lost |= k.lost;
        result.any_contested |= k.contested;
    };
    if (later_.empty()) {
        add(first_);
    } else {
        for (const share& each : shares_) add(each.known);
    }
    return result;
}

/// Makes them all there are; neighbours differ.
void directory::replace(const std::vector<segment>& all) {
    if (all.empty()) return;
    later_.reserve(all.size() - 1);
    directory rest(bytes_);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t end = i + 1 < all.size() ? all[i + 1].begin : bytes_;
        rest.share_of(all[i].known).bytes += end - all[i].begin;
    }
    shares_.swap(rest.shares_);
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
