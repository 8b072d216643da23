// coherence/directory.cpp
#include "coherence/directory.hpp"

#include <algorithm>

namespace unibuf::coherence {
/// Returns the index of the range that holds `offset`.
std::size_t directory::index_at(std::size_t offset) const noexcept {
    const std::span<const segment> all = later();
    return static_cast<std::size_t>(std::ranges::upper_bound(all, offset, {}, &segment::begin) - all.begin());
}

/// Makes a range begin at `offset`, and returns its index.
std::size_t directory::split(std::size_t offset) {
    if (offset >= bytes_) return ranges();
    const std::size_t index = index_at(offset);
    if (begin_of(index) == offset) return index;
    if (!many_) many_ = std::make_unique<many>();
    if (many_->later.empty()) many_->shares.assign(1, {first_, bytes_});
    many_->later.insert(many_->later.begin() + static_cast<std::ptrdiff_t>(index), segment{offset, known(index)});
    return index + 1;
}

/// Joins equal neighbours among the ranges [first, last) and the two beside them.
void directory::join(std::size_t first, std::size_t last) {
    if (!many_) return;
    std::size_t kept = first ? first - 1 : 0;
    const std::size_t end = std::min(last + 1, ranges());
    for (std::size_t i = kept + 1; i < end; ++i) {
        if (known(i) == known(kept)) continue;
        ++kept;
        if (kept != i) many_->later[kept - 1] = many_->later[i - 1];
    }
    if (kept + 1 < end) {
        const auto begin = many_->later.begin();
        many_->later.erase(begin + static_cast<std::ptrdiff_t>(kept), begin + static_cast<std::ptrdiff_t>(end - 1));
        give_back();
    }
    std::erase_if(many_->shares, [](const share& each) { return each.bytes == 0; });
}

/// Returns the share of bytes that are known like `k`; makes an empty one where there is none.
directory::share& directory::share_of(const knowledge& k) {
    const auto found = std::ranges::find(many_->shares, k, &share::known);
    return found != many_->shares.end() ? *found : many_->shares.emplace_back(share{k, 0});
}

/// Counts that so many bytes are known otherwise. Both kinds have a share.
void directory::count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept {
    if (before == after) return;
    std::ranges::find(many_->shares, before, &share::known)->bytes -= bytes;
    std::ranges::find(many_->shares, after, &share::known)->bytes += bytes;
}

summary directory::summarize() const noexcept {
    if (boxes()) return boxes()->summarize();
    summary result = summary_of(first_);
    if (is_one()) return result;
    for (const share& each : many_->shares) result.add(summary_of(each.known));
    return result;
}

/// Returns the ranges as boxes of the lattice of the first part that is a box; nothing where that does not fit, or
/// where there are many.
std::optional<bands> directory::boxes_for(std::span<const region> parts) const {
    const lattice& on = std::ranges::find_if_not(parts, &region::is_range)->as_box()->on;
    if (bytes_ % on.pitch[0] != 0 || ranges() > most_made_boxes) return std::nullopt;
    bands result(on, bytes_, first_);
    for_each_range(whole(), [&](byte_range range, const knowledge& known) {
        for_each_box(range, on, [&](const box& of) { result.update(of, [&](knowledge& k) { k = known; }); });
    });
    return result;
}

/// Puts these boxes in the place of all pieces.
void directory::take(bands next) {
    if (next.is_one()) {
        first_ = next.first();
        many_.reset();
        return;
    }
    if (!many_) many_ = std::make_unique<many>();
    many_->later.clear();
    many_->shares.clear();
    many_->boxes = std::move(next);
}

/// Puts these ranges in the place of all. Neighbours differ.
void directory::replace(const std::vector<segment>& all) {
    if (all.empty()) return;
    directory next(bytes_);
    next.many_ = std::make_unique<many>();
    next.many_->later.assign(all.begin() + 1, all.end());
    next.first_ = all.front().known;
    for (std::size_t i = 0; i < all.size(); ++i) {
        next.share_of(all[i].known).bytes += next.begin_of(i + 1) - next.begin_of(i);
    }
    *this = std::move(next);
}

/// Gives back memory that was needed once, and is not any more.
void directory::give_back() {
    constexpr std::size_t worth_it = 64;
    std::vector<segment>& later = many_->later;
    if (later.capacity() > worth_it && later.size() < later.capacity() / 4) later.shrink_to_fit();
}

}  // namespace unibuf::coherence
