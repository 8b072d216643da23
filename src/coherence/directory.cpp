// coherence/directory.cpp: keeps what is known of each byte, as ranges or as boxes.
#include "coherence/directory.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace unibuf::coherence {

/// Makes room for more pieces than one. What is known of the only one counts for all bytes.
void directory::begin_to_count() {
    if (!is_one()) return;
    if (!many_) many_ = std::make_unique<many>();
    constexpr std::size_t usual_kinds = 4;
    many_->shares.reserve(usual_kinds);
    many_->shares.assign(1, {first_, bytes_});
    many_->counts = true;
}

/// Makes a range begin at `offset`.
void directory::split(std::size_t offset) {
    if (offset == 0 || offset >= bytes_) return;
    if (is_one()) {
        begin_to_count();
        many_->ranges.start({0, first_});
    }
    const auto piece = many_->ranges.at(offset);
    if (piece->begin != offset) many_->ranges.insert_behind(piece, {offset, piece->known});
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
    next.reserve(pieces() + 2 * ranges.count());
    auto at = ranges.begin();
    bool ends = false;  // the next place to divide at is the end of `at`
    const auto next_place = [&] { return at == ranges.end() ? bytes_ : ends ? at->end : at->begin; };
    for_each_range(whole(), [&](byte_range piece, const knowledge& known) {
        next.push_back({piece.begin, known});
        for (std::size_t place = next_place(); place < piece.end; place = next_place()) {
            if (place > piece.begin) next.push_back({place, known});
            if (ends) ++at;
            ends = !ends;
        }
    });
    piece_list<segment> made(next);
    begin_to_count();
    many_->ranges = std::move(made);
}

/// Makes the pieces boxes of the lattice. Returns false, and does nothing, where that does not fit, or where there are
/// many.
bool directory::see_as_boxes(const lattice& on) {
    if (bytes_ % on.pitch[0] != 0 || pieces() > most_made_boxes) return false;
    bands made(on, bytes_, first());
    for_each_range(whole(), [&](byte_range range, const knowledge& known) {
        for_each_box(range, on, [&](const box& of) {
            made.divide(of);
            made.change(of, [&](knowledge& k, std::size_t) { k = known; });
        });
    });
    begin_to_count();
    many_->ranges = {};
    many_->boxes = std::move(made);
    join_boxes(whole());
    return true;
}

/// Joins neighbours that are alike among the pieces that `around` has bytes of, and those beside them.
void directory::join(const region& around) noexcept {
    if (!many_) return;
    if (boxes()) {
        join_boxes(around);
        if (many_->promises.empty() && boxes()->is_one()) {
            first_ = boxes()->first();
            many_.reset();
            return;
        }
    } else {
        join_ranges(around.hull());
    }
    std::erase_if(many_->shares, [](const share& each) { return each.bytes == 0; });
    if (!many_->counts) count_all();
}

void directory::join_boxes(const region& around) noexcept {
    for_each_box_of(around, [&](const box& of) {
        if (!many_->promises.empty()) {
            boxes()->join(of,
                          [&](std::size_t axis, std::size_t index, const box& in) { return keeps(axis, index, in); });
        } else {
            boxes()->join(of, [](std::size_t, std::size_t, const box&) { return false; });
        }
    });
}

void directory::join_ranges(byte_range around) noexcept {
    if (is_one()) return;
    piece_list<segment>& all = many_->ranges;
    const std::size_t begin = std::min(around.begin, bytes_ - 1);
    auto kept = all.at(begin - (begin != 0));
    auto end = all.at(std::min(around.end, bytes_ - 1));
    ++end;
    auto each = kept;
    for (++each; each != end; ++each) {
        if (each->known == kept->known && !keeps(each->begin)) continue;
        *++kept = *each;
    }
    all.erase(++kept, end);
    if (all.size() != 1) return;
    first_ = all.begin()->known;
    all.clear();
}

/// Returns whether a promise needs a piece to begin at `offset`. REQUIRES: it is not the first.
bool directory::keeps(std::size_t offset) const noexcept {
    return many_->promises.any({offset - 1, offset + 1}, [](const promise&) { return true; });
}

/// Returns whether a promise needs a band to begin at `index` of the axis, in the bands that `of` tells of.
bool directory::keeps(std::size_t axis, std::size_t index, const box& of) const noexcept {
    const auto needs = [&](const box& kept) {
        for (std::size_t before = 0; before < axis; ++before) {
            if (kept.begin[before] >= of.end[before] || of.begin[before] >= kept.end[before]) return false;
        }
        return kept.begin[axis] <= index && index <= kept.end[axis];
    };
    const lattice& on = boxes()->on();
    byte_range near{(index - 1) * on.pitch[axis], (index + 1) * on.pitch[axis]};  // the bytes beside such a beginning
    for (std::size_t before = 0; before < axis; ++before) {
        near.begin += of.begin[before] * on.pitch[before];
        near.end += (of.end[before] - 1) * on.pitch[before];
    }
    return many_->promises.any([&](const promise& each) {
        if (!each.part_.is_range() && each.part_.as_box()->on == on) return needs(*each.part_.as_box());
        bool result = false;
        each.part_.for_each_run_near(near, [&](byte_range run) {
            for_each_box(run.clipped_to(whole()), on, [&](const box& kept) { result = result || needs(kept); });
        });
        return result;
    });
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
    for_each_size([&](const knowledge& k, std::size_t bytes) {
        if (!many_->counts) return;
        const auto found = std::ranges::find(many_->shares, k, &share::known);
        if (found != many_->shares.end()) {
            found->bytes += bytes;
            return;
        }
        try {
            many_->shares.push_back({k, bytes});
        } catch (const std::bad_alloc&) {
            many_->counts = false;
        }
    });
}

summary directory::summarize() const noexcept {
    if (is_one()) return summary_of(first_);
    summary result = summary_of(first());
    for_each_kind([&](const knowledge& k) { result.add(summary_of(k)); });
    return result;
}

void directory::promise::end() noexcept {
    if (lives_) in_.many_->promises.remove(*this);
    in_.join(part_);
}

/// Notes that the promise lives: where there is one piece, nothing could be joined.
void directory::promise::begin() noexcept {
    if (lives_ || !in_.many_) return;
    in_.many_->promises.add(*this);
    lives_ = true;
}

}  // namespace unibuf::coherence
