// coherence/directory.hpp: which bytes are current where.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "coherence/bands.hpp"
#include "coherence/byte_ranges.hpp"
#include "coherence/knowledge.hpp"
#include "coherence/region.hpp"

namespace unibuf::coherence {

/// A map of bytes, in pieces that are known alike each. The pieces are ranges; from the first change of a box on, until
/// all bytes are known alike again, they are boxes of its lattice (bands.hpp). Neighbours that are known alike are one
/// piece, so a buffer that is whole everywhere is one, and needs no memory beyond this object. Looking up a range is
/// logarithmic in the number of ranges; a change moves what is behind it.
class directory {
public:
    explicit directory(std::size_t bytes) : bytes_(bytes) {}
    ~directory() = default;
    directory(const directory& other)
        : bytes_(other.bytes_),
          first_(other.first_),
          many_(other.many_ ? std::make_unique<many>(*other.many_) : nullptr) {}
    directory(directory&& other) noexcept = default;
    directory& operator=(directory other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(first_, other.first_);
        many_.swap(other.many_);
        return *this;
    }

    std::size_t bytes() const noexcept { return bytes_; }
    byte_range whole() const noexcept { return {0, bytes_}; }
    std::size_t pieces() const noexcept { return boxes() ? boxes()->boxes() : ranges(); }

    /// Returns whether all bytes are known alike: as first().
    bool is_one() const noexcept { return !many_ || (many_->later.empty() && !many_->boxes); }

    /// Returns what is known of the first byte.
    const knowledge& first() const noexcept { return boxes() ? boxes()->first() : first_; }

    /// Returns what is known of all bytes. Linear in the number of distinct kinds of knowledge, or in that of boxes.
    coherence::summary summarize() const noexcept;

    /// Calls visit(const region&, const knowledge&) for each piece that has bytes of `part`, clipped to it.
    template <class Visit>
    void for_each(const region& part, Visit visit) const {
        const auto visit_box = [&](const box& of, const knowledge& k) { visit(region(of), k); };
        if (!boxes()) {
            if (part.is_range()) return for_each_range(part.hull(), visit);
            for_each_range(part.hull(), [&](byte_range piece, const knowledge& k) {
                region(piece).for_each_common(part, [&](const region& common) { visit(common, k); });
            });
        } else if (part.is_range()) {
            for_each_box(part.hull().clipped_to(whole()), boxes()->on(),
                         [&](const box& of) { boxes()->for_each(of, visit_box); });
        } else if (part.as_box()->on == boxes()->on()) {
            boxes()->for_each(*part.as_box(), visit_box);
        } else {
            part.for_each_run([&](byte_range run) { for_each(run, visit); });
        }
    }

    /// Calls visit(byte_range, const knowledge&) for each run of `part` that is known alike, in order.
    template <class Visit>
    void for_each_run(const region& part, Visit visit) const {
        if (part.is_range() && boxes()) {
            for_each_box(part.hull().clipped_to(whole()), boxes()->on(),
                         [&](const box& of) { boxes()->for_each_run(of, visit); });
        } else if (part.is_range()) {
            for_each_range(part.hull(), visit);
        } else if (boxes() && part.as_box()->on == boxes()->on()) {
            boxes()->for_each_run(*part.as_box(), visit);
        } else {
            part.for_each_run([&](byte_range run) { for_each_run(run, visit); });
        }
    }

    /// Returns the runs of `part` of which is(const knowledge&) holds.
    template <class Is>
    byte_ranges where(const region& part, Is is) const {
        byte_ranges result;
        if (!any(part, is)) return result;
        for_each_run(part, [&](byte_range piece, const knowledge& k) {
            if (std::invoke(is, k)) result.add(piece);
        });
        return result;
    }

    template <class Is>
    bool any(const region& part, Is is) const {
        bool result = false;
        for_each(part, [&](const region&, const knowledge& k) { result |= std::invoke(is, k); });
        return result;
    }

    /// Returns the hull of the first piece of `part` of which is(const knowledge&) holds. Empty where there is none.
    template <class Is>
    byte_range first_where(const region& part, Is is) const {
        byte_range result;
        for_each(part, [&](const region& piece, const knowledge& k) {
            if (result.empty() && std::invoke(is, k)) result = piece.hull();
        });
        return result;
    }

    /// Calls change(knowledge&), which depends on nothing else, for each piece of `part`. Splits at its ends, and joins
    /// what has become alike.
    template <class Change>
    void update(const region& part, Change change) {
        if (part.is_range() && !boxes()) return update_range(part.hull(), change);
        if (is_one()) {
            knowledge next = first_;
            change(next);
            if (next == first_) return;
        }
        update_boxes(std::span(&part, 1), change);
    }

    /// Calls change(knowledge&) for each piece of many parts, in one pass.
    template <class Change>
    void update_all(std::span<const region> parts, Change change) {
        if (boxes() || !std::ranges::all_of(parts, &region::is_range)) return update_boxes(parts, change);
        for (const region& each : parts) update_range(each.hull(), change);
    }

    /// Calls change(knowledge&) for each piece of many ranges, in one pass.
    template <class Change>
    void update_all(const byte_ranges& ranges, Change change) {
        if (boxes()) {
            const std::vector<region> parts(ranges.begin(), ranges.end());
            return update_boxes(parts, change);
        }
        if (ranges.count() <= few) {
            for (const byte_range& each : ranges) update_range(each, change);
            return;
        }
        std::vector<segment> next;
        next.reserve(this->ranges() + 2 * ranges.count());
        const auto add = [&](byte_range piece, const knowledge& k) {
            if (!next.empty() && next.back().known == k) return;
            next.push_back({piece.begin, k});
        };
        std::size_t i = 0;
        std::size_t done = 0;
        const auto go_on = [&](std::size_t end, auto visit) {
            for (end = std::min(end, bytes_); done < end; i += done == begin_of(i + 1)) {
                const byte_range piece = byte_range{done, end}.clipped_to({begin_of(i), begin_of(i + 1)});
                visit(piece, known(i));
                done = piece.end;
            }
        };
        for (const byte_range& each : ranges) {
            go_on(each.begin, add);
            go_on(each.end, [&](byte_range piece, knowledge k) {
                change(k);
                add(piece, k);
            });
        }
        go_on(bytes_, add);
        replace(next);
    }

    friend bool operator==(const directory& one, const directory& other) noexcept {
        if (one.bytes_ != other.bytes_ || !one.boxes() != !other.boxes()) return false;
        if (one.boxes()) return *one.boxes() == *other.boxes();
        return one.first_ == other.first_ && std::ranges::equal(one.later(), other.later());
    }

private:
    struct segment {
        std::size_t begin;
        knowledge known;
        friend bool operator==(const segment&, const segment&) = default;
    };

    /// The number of bytes that are known alike.
    struct share {
        knowledge known;
        std::size_t bytes;
    };

    struct many {
        std::vector<segment> later;  // the ranges behind the first
        std::vector<share> shares;   // cover all bytes; of no use where there is one range
        std::optional<bands> boxes;  // in the place of all ranges, where the pieces are boxes
    };

    const bands* boxes() const noexcept {
        if (!many_) return nullptr;
        const std::optional<bands>& boxes = many_->boxes;
        return boxes ? &*boxes : nullptr;
    }
    std::size_t ranges() const noexcept { return many_ ? 1 + many_->later.size() : 1; }

    template <class Visit>
    void for_each_range(byte_range range, Visit visit) const {
        range = range.clipped_to(whole());
        if (range.empty()) return;
        for (std::size_t i = index_at(range.begin); i < ranges() && begin_of(i) < range.end; ++i) {
            visit(range.clipped_to({begin_of(i), begin_of(i + 1)}), known(i));
        }
    }

    template <class Change>
    void update_range(byte_range range, Change change) {
        range = range.clipped_to(whole());
        if (range.empty()) return;
        if (range == whole() && ranges() == 1) return change(first_);
        const std::size_t first = split(range.begin);
        const std::size_t last = split(range.end);
        for (std::size_t i = first; i < last; ++i) {  // this loop may fail, before the first change
            knowledge next = known(i);
            change(next);
            share_of(next);
        }
        for (std::size_t i = first; i < last; ++i) {
            const knowledge before = known(i);
            change(known(i));
            count(before, known(i), begin_of(i + 1) - begin_of(i));
        }
        join(first, last);
    }

    /// Changes parts of which some are boxes, or all while the pieces are boxes. A box of another lattice than that of
    /// the pieces is cut into its runs.
    template <class Change>
    void update_boxes(std::span<const region> parts, Change change) {
        std::optional<bands> next = boxes() ? *boxes() : boxes_for(parts);
        if (!next) {
            for (const region& each : parts) each.for_each_run([&](byte_range run) { update_range(run, change); });
            return;
        }
        const auto update_in = [&](const box& of) { next->update(of, change); };
        for (const region& each : parts) {
            if (!each.is_range() && each.as_box()->on == next->on()) {
                update_in(*each.as_box());
            } else {
                each.for_each_run(
                    [&](byte_range run) { for_each_box(run.clipped_to(whole()), next->on(), update_in); });
            }
        }
        take(std::move(*next));
    }

    std::span<const segment> later() const noexcept {
        return many_ ? std::span<const segment>(many_->later) : std::span<const segment>();
    }

    std::size_t begin_of(std::size_t index) const noexcept {
        if (index == 0) return 0;
        return index < ranges() ? many_->later[index - 1].begin : bytes_;
    }
    const knowledge& known(std::size_t index) const noexcept { return index ? many_->later[index - 1].known : first_; }
    knowledge& known(std::size_t index) noexcept { return index ? many_->later[index - 1].known : first_; }

    std::size_t index_at(std::size_t offset) const noexcept;
    std::size_t split(std::size_t offset);
    void join(std::size_t first, std::size_t last);
    void replace(const std::vector<segment>& all);
    std::optional<bands> boxes_for(std::span<const region> parts) const;
    void take(bands next);
    void give_back();
    share& share_of(const knowledge& k);
    void count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept;

    static constexpr std::size_t few = 8;
    static constexpr std::size_t most_made_boxes = 64;  // a directory of more ranges goes on with ranges

    std::size_t bytes_;
    knowledge first_;
    std::unique_ptr<many> many_;  // null where there has never been more than one range
};

}  // namespace unibuf::coherence
