// coherence/directory.cpp
#include "coherence/directory.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace unibuf::coherence {
/// Returns the index of the range that holds `offset`.
std::size_t directory::index_at(std::size_t offset) const noexcept {
    const std::span<const segment> all = later();
    return static_cast<std::size_t>(std::ranges::upper_bound(all, offset, {}, &segment::begin) - all.begin());
}

directory::many& directory::with_many() {
    if (!many_) many_ = std::make_unique<many>();
    return *many_;
}

/// Makes room for more pieces than one. What is known of the only one counts for all bytes.
void directory::begin_to_count() {
    many& all = with_many();
    if (!is_one()) return;
    all.shares.assign(1, {first(), bytes_});
    all.counts = true;
}

/// Makes a range begin at `offset`.
void directory::split(std::size_t offset) {
    if (offset == 0 || offset >= bytes_) return;
    const std::size_t index = index_at(offset);
    if (begin_of(index) == offset) return;
    begin_to_count();
    many_->later.insert(many_->later.begin() + static_cast<std::ptrdiff_t>(index), segment{offset, known(index)});
}

/// Makes pieces begin and end where `part` does. Where it throws, some do.
void directory::divide(const region& part) {
    if (!part.is_range() && !boxes() && see_as_boxes(part.as_box()->on)) return divide(part);
    if (boxes()) return for_each_box_of(part, [&](const box& of) { boxes()->divide(of); });
    if (!part.is_range()) return divide(runs_of(part));
    if (part.empty()) return;
    split(part.begin());
    split(part.end());
}

void directory::divide(const byte_ranges& ranges) {
    if (boxes() || ranges.count() <= few) {
        for (const byte_range& each : ranges) divide(region(each));
        return;
    }
    std::vector<segment> next;
    next.reserve(this->ranges() + 2 * ranges.count());
    std::size_t i = 0;
    const auto begin_at = [&](std::size_t offset) {
        for (; i + 1 < this->ranges() && begin_of(i + 1) <= offset; ++i)
            next.push_back({begin_of(i + 1), known(i + 1)});
        if (offset != 0 && offset < bytes_ && begin_of(i) != offset && (next.empty() || next.back().begin != offset)) {
            next.push_back({offset, known(i)});
        }
    };
    for (const byte_range& each : ranges) {
        begin_at(each.begin);
        begin_at(each.end);
    }
    begin_at(bytes_);
    begin_to_count();
    many_->later = std::move(next);
}

/// Makes the pieces boxes of the lattice. Returns false, and does nothing, where that does not fit, or where there are
/// many.
bool directory::see_as_boxes(const lattice& on) {
    if (bytes_ % on.pitch[0] != 0 || ranges() > most_made_boxes) return false;
    bands made(on, bytes_, first_);
    for_each_range(whole(), [&](byte_range range, const knowledge& known) {
        for_each_box(range, on, [&](const box& of) {
            made.divide(of);
            made.change(of, [&](knowledge& k, std::size_t) { k = known; });
        });
    });
    begin_to_count();
    many_->later = {};
    many_->boxes = std::move(made);
    return true;
}

/// Joins neighbours that are alike among the pieces that `around` has bytes of, and those beside them.
void directory::join(const region& around) noexcept {
    if (!many_) return;
    if (boxes()) {
        join_boxes(around);
    } else {
        const byte_range hull = around.hull();
        const std::size_t last = hull.end < bytes_ ? index_at(hull.end) + 1 : ranges();
        join_ranges(index_at(std::min(hull.begin, bytes_ - 1)), last);
    }
    if (!many_) return;
    std::erase_if(many_->shares, [](const share& each) { return each.bytes == 0; });
    if (!many_->counts) count_all();
}

void directory::join_boxes(const region& around) noexcept {
    for_each_box_of(around, [&](const box& of) {
        if (many_->promises) {
            boxes()->join(of,
                          [&](std::size_t axis, std::size_t index, const box& in) { return keeps(axis, index, in); });
        } else {
            boxes()->join(of, [](std::size_t, std::size_t, const box&) { return false; });
        }
    });
    if (many_->promises || !boxes()->is_one()) return;
    first_ = boxes()->first();
    many_.reset();
}

/// Joins equal neighbours among the ranges [first, last) and the one before them.
void directory::join_ranges(std::size_t first, std::size_t last) noexcept {
    std::size_t kept = first ? first - 1 : 0;
    const std::size_t end = std::min(last, ranges());
    for (std::size_t i = kept + 1; i < end; ++i) {
        if (known(i) == known(kept) && !(many_->promises && keeps(begin_of(i)))) continue;
        ++kept;
        if (kept != i) many_->later[kept - 1] = many_->later[i - 1];
    }
    if (kept + 1 < end) {
        std::vector<segment>& later = many_->later;
        const auto begin = later.begin();
        later.erase(begin + static_cast<std::ptrdiff_t>(kept), begin + static_cast<std::ptrdiff_t>(end - 1));
        constexpr std::size_t worth_it = 64;  // memory that was needed once
        if (later.capacity() > worth_it && later.size() < later.capacity() / 4) later.shrink_to_fit();
    }
}

/// Returns whether a promise needs a piece to begin at `offset`.
bool directory::keeps(std::size_t offset) const noexcept {
    for (const promise* each = many_->promises; each; each = each->next_) {
        if (each->part_.begin() <= offset && offset <= each->part_.end()) return true;
    }
    return false;
}

/// Returns whether a promise needs a band to begin at `index` of the axis, in the bands that `of` tells of.
bool directory::keeps(std::size_t axis, std::size_t index, const box& of) const noexcept {
    const auto needs = [&](const box& kept) {
        for (std::size_t before = 0; before < axis; ++before) {
            if (kept.begin[before] >= of.end[before] || of.begin[before] >= kept.end[before]) return false;
        }
        return kept.begin[axis] <= index && index <= kept.end[axis];
    };
    bool result = false;
    for (const promise* each = many_->promises; each && !result; each = each->next_) {
        for_each_box_of(each->part_, [&](const box& kept) { result = result || needs(kept); });
    }
    return result;
}

/// Counts that so many bytes are known otherwise.
void directory::count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept {
    if (before == after || !many_->counts) return;
    std::ranges::find(many_->shares, before, &share::known)->bytes -= bytes;
    const auto found = std::ranges::find(many_->shares, after, &share::known);
    if (found != many_->shares.end()) {
        found->bytes += bytes;
        return;
    }
    try {
        many_->shares.push_back({after, bytes});
    } catch (const std::bad_alloc&) {
        many_->counts = false;
    }
}

/// Counts all bytes anew, where there is memory for that.
void directory::count_all() noexcept {
    many_->shares.clear();
    many_->counts = true;
    for_each(whole(), [&](const region& piece, const knowledge& k) {
        if (!many_->counts) return;
        const auto found = std::ranges::find(many_->shares, k, &share::known);
        if (found != many_->shares.end()) {
            found->bytes += piece.size();
            return;
        }
        try {
            many_->shares.push_back({k, piece.size()});
        } catch (const std::bad_alloc&) {
            many_->counts = false;
        }
    });
}

summary directory::summarize() const noexcept {
    summary result = summary_of(first());
    for_each_kind([&](const knowledge& k) { result.add(summary_of(k)); });
    return result;
}

void directory::promise::end() noexcept {
    if (lives_) {
        const promise** link = &in_.many_->promises;
        while (*link && *link != this) link = &const_cast<promise*>(*link)->next_;
        if (*link) *link = next_;
    }
    in_.join(part_.hull());
}

/// Notes that the promise lives: where there is one piece, nothing could be joined.
void directory::promise::begin() noexcept {
    if (lives_ || !in_.many_) return;
    next_ = std::exchange(in_.many_->promises, this);
    lives_ = true;
}

}  // namespace unibuf::coherence
