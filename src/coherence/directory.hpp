// coherence/directory.hpp: which bytes are current where.
#pragma once

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "coherence/bands.hpp"
#include "coherence/byte_ranges.hpp"
#include "coherence/knowledge.hpp"
#include "coherence/range_tree.hpp"
#include "coherence/region.hpp"
#include "containers/piece_list.hpp"

namespace unibuf::coherence {

/// A map of bytes, in pieces that are known alike each. The pieces are ranges; from the first change of a box on, until
/// all bytes are known alike again, they are boxes of its lattice (bands.hpp). Neighbours that are known alike are one
/// piece, so a buffer that is whole everywhere is one, and needs no memory beyond this object. Looking up a range and
/// changing it are logarithmic in the number of ranges, and linear in those that it has.
class directory {
public:
    explicit directory(std::size_t bytes) : bytes_(bytes) {}
    ~directory() = default;
    directory(const directory& other)
        : bytes_(other.bytes_),
          first_(other.first_),
          many_(other.many_ ? std::make_unique<many>(*other.many_) : nullptr) {
        if (many_ && !other.many_->promises.empty()) join(whole());
    }
    directory(directory&& other) noexcept = default;
    directory& operator=(directory other) noexcept {
        std::swap(bytes_, other.bytes_);
        std::swap(first_, other.first_);
        many_.swap(other.many_);
        return *this;
    }

    std::size_t bytes() const noexcept { return bytes_; }
    byte_range whole() const noexcept { return {0, bytes_}; }
    std::size_t pieces() const noexcept {
        if (is_one()) return 1;
        return boxes() ? boxes()->boxes() : many_->ranges.size();
    }

    /// Returns whether all bytes are known alike: as first().
    bool is_one() const noexcept { return !many_ || (many_->ranges.empty() && !many_->boxes); }

    /// Returns what is known of the first byte.
    const knowledge& first() const noexcept {
        if (is_one()) return first_;
        return boxes() ? boxes()->first() : many_->ranges.begin()->known;
    }

    /// Returns what is known of all bytes. Linear in the number of distinct kinds of knowledge.
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

    /// Calls visit(const knowledge&) once for each kind of knowledge that there is of any bytes, in no order.
    template <class Visit>
    void for_each_kind(const Visit& visit) const {
        if (is_one()) return visit(first());
        if (!many_->counts) return for_each_size([&](const knowledge& k, std::size_t) { visit(k); });
        for (const share& each : many_->shares) {
            if (each.bytes != 0) visit(each.known);
        }
    }

    /// Does so for the kinds of bytes of `part`; some may come more than once.
    template <class Visit>
    void for_each_kind(const region& part, const Visit& visit) const {
        if (is_one() && !part.empty()) return visit(first());
        static_cast<void>(any(part, [&](const knowledge& k) {
            visit(k);
            return false;
        }));
    }

    template <class Is>
    bool any(const region& part, const Is& is) const noexcept {
        return !first_where(part, is).empty();
    }

    /// Returns the hull of the first piece of `part` of which is(const knowledge&) holds. Empty where there is none.
    template <class Is>
    byte_range first_where(const region& part, const Is& is) const noexcept {
        byte_range result;
        if (is_one() || has_all(part)) {
            bool found = false;
            for_each_kind([&](const knowledge& k) { found = found || std::invoke(is, k); });
            if (!found) return result;
        }
        const auto look = [&](byte_range piece, const knowledge& k) {
            if (std::invoke(is, k)) result = piece;
            return !result.empty();
        };
        if (boxes()) {
            for_each_box_of(part, [&](const box& of) {
                if (!result.empty()) return;
                boxes()->any(of, [&](const box& piece, const knowledge& k) { return look(piece.hull(), k); });
            });
        } else {
            part.for_each_run([&](byte_range run) {
                if (result.empty()) any_range(run, look);
            });
        }
        return result;
    }

    class promise;

    /// Calls change(knowledge&), which depends on nothing else and does not throw, for each piece of `part`. Throws
    /// std::bad_alloc before the first change, or not at all.
    template <class Change>
    void update(const region& part, const Change& change);

    /// Calls change(knowledge&) for each piece of many parts, in one pass.
    template <class Change>
    void update_all(std::span<const region> parts, const Change& change);
    template <class Change>
    void update_all(const byte_ranges& ranges, const Change& change);

    friend bool operator==(const directory& one, const directory& other) noexcept {
        if (one.bytes_ != other.bytes_ || !one.boxes() != !other.boxes()) return false;
        if (one.boxes()) return *one.boxes() == *other.boxes();
        if (one.is_one() || other.is_one()) return one.is_one() && other.is_one() && one.first_ == other.first_;
        return one.many_->ranges == other.many_->ranges;
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

    /// A copy of the directory has no promises.
    struct live_promises : range_index<promise> {
        live_promises() = default;
        live_promises(const live_promises&) noexcept : range_index() {}
        live_promises& operator=(const live_promises&) = delete;
    };

    struct many {
        piece_list<segment> ranges;  // empty where there is one piece, or the pieces are boxes
        std::vector<share> shares;   // cover all bytes; of no use where there is one piece
        bool counts = true;          // where false, there was no memory for a share
        std::optional<bands> boxes;  // in the place of all ranges, where the pieces are boxes
        live_promises promises;
    };

    /// Returns whether the part has all bytes, of which there are some.
    bool has_all(const region& part) const noexcept {
        return bytes_ != 0 && part.is_range() && part.hull().contains(whole());
    }

    const bands* boxes() const noexcept {
        if (!many_) return nullptr;
        const std::optional<bands>& boxes = many_->boxes;
        return boxes ? &*boxes : nullptr;
    }
    bands* boxes() noexcept { return const_cast<bands*>(std::as_const(*this).boxes()); }
    /// Returns whether visit(byte_range, const knowledge&) returns true for a piece of the range; asks no more then.
    template <class Visit>
    bool any_range(byte_range range, const Visit& visit) const {
        range = range.clipped_to(whole());
        if (range.empty()) return false;
        if (is_one()) return visit(range, first_);
        const piece_list<segment>& all = many_->ranges;
        for (auto each = all.at(range.begin); each != all.end() && each->begin < range.end;) {
            const segment& piece = *each++;
            if (visit(range.clipped_to({piece.begin, begin_of(all, each)}), piece.known)) return true;
        }
        return false;
    }

    template <class Visit>
    void for_each_range(byte_range range, const Visit& visit) const {
        any_range(range, [&](byte_range piece, const knowledge& k) {
            visit(piece, k);
            return false;
        });
    }

    /// Calls visit(const knowledge&, std::size_t bytes) for each piece. Needs no memory.
    template <class Visit>
    void for_each_size(const Visit& visit) const {
        if (!boxes())
            return for_each_range(whole(), [&](byte_range piece, const knowledge& k) { visit(k, piece.size()); });
        for_each_box(whole(), boxes()->on(), [&](const box& of) {
            boxes()->for_each(of, [&](const box& piece, const knowledge& k) { visit(k, piece.size()); });
        });
    }

    template <class Change>
    void change_range(byte_range range, const Change& change) noexcept {
        range = range.clipped_to(whole());
        if (range.empty()) return;
        if (is_one()) return change(first_);
        piece_list<segment>& all = many_->ranges;
        for (auto each = all.at(range.begin); each != all.end() && each->begin < range.end;) {
            segment& piece = *each++;
            assert(range.contains({piece.begin, begin_of(all, each)}));
            const knowledge before = piece.known;
            change(piece.known);
            count(before, piece.known, begin_of(all, each) - piece.begin);
        }
    }

    template <class Change>
    void change_box(const box& within, const Change& change) noexcept {
        boxes()->change(within, [&](knowledge& k, std::size_t bytes) {
            const knowledge before = k;
            change(k);
            count(before, k, bytes);
        });
    }

    template <class Change>
    void change_piece(const region& part, const Change& change) noexcept {
        if (boxes()) return for_each_box_of(part, [&](const box& of) { change_box(of, change); });
        part.for_each_run([&](byte_range run) { change_range(run, change); });
    }

    /// Calls visit(const box&) for boxes of the lattice of the pieces that make up `part`.
    template <class Visit>
    void for_each_box_of(const region& part, const Visit& visit) const {
        const lattice& on = boxes()->on();
        if (!part.is_range() && part.as_box()->on == on) return visit(*part.as_box());
        part.for_each_run([&](byte_range run) { for_each_box(run.clipped_to(whole()), on, visit); });
    }

    /// Returns where a range of `all` begins; behind the last, where all bytes end.
    template <class List, class Iterator>
    std::size_t begin_of(List& all, const Iterator& range) const noexcept {
        return range != all.end() ? range->begin : bytes_;
    }

    void split(std::size_t offset);
    void divide(const region& part);
    void divide(const byte_ranges& ranges);
    bool see_as_boxes(const lattice& on);
    void join(const region& around) noexcept;
    void join_boxes(const region& around) noexcept;
    void begin_to_count();
    void join_ranges(byte_range around) noexcept;
    bool keeps(std::size_t offset) const noexcept;
    bool keeps(std::size_t axis, std::size_t index, const box& of) const noexcept;
    void count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept;
    void count_all() noexcept;

    static constexpr std::size_t few = 8;
    static constexpr std::size_t most_made_boxes = 64;  // a directory of more ranges goes on with ranges

    std::size_t bytes_;
    knowledge first_;             // of all bytes, where there is one piece
    std::unique_ptr<many> many_;  // null where there has never been more than one
};

/// A promise that changes of a part of a directory need no memory: what needs some is done when it is made, so that
/// what has happened to bytes can be noted whatever happens. While it lives, pieces begin and end where the part does;
/// they stay apart there, and within the part, though they become alike. At its end neighbours that are alike are one
/// piece again. Others may change other bytes meanwhile.
class directory::promise {
public:
    /// Throws std::bad_alloc; for all bytes, and where pieces end there, it does not.
    promise(directory& in, const region& part) : in_(in), part_(part) {
        const bool is_all_of_one = !in.many_ && part.is_range() && part.hull() == in.whole();
        if (!is_all_of_one) divide(part_);
    }
    ~promise() {
        if (in_.many_) end();
    }
    promise(const promise&) = delete;
    promise& operator=(const promise&) = delete;

    range_links<promise> links;  // of the tree of those that live

    /// Promises so for a smaller part, or for several.
    void divide(const region& part) { divide_at(part); }
    void divide(const byte_ranges& ranges) { divide_at(ranges); }

    /// Calls change(knowledge&), which depends on nothing else, for each piece of `part`.
    /// REQUIRES: `part` is the part of the promise, or divide() was called for it.
    template <class Change>
    void update(const region& part, const Change& change) const noexcept {
        in_.change_piece(part, change);
    }

private:
    friend class directory;
    friend class range_index<promise>;

    byte_range range() const noexcept { return part_.hull(); }

    template <class Bytes>
    void divide_at(const Bytes& bytes) {
        try {
            in_.divide(bytes);
        } catch (...) {
            in_.join(part_);
            throw;
        }
        begin();
    }
    void begin() noexcept;
    void end() noexcept;

    directory& in_;
    region part_;
    bool lives_ = false;  // it is among those that do
};

template <class Change>
void directory::update(const region& part, const Change& change) {
    if (!part.hull().overlaps(whole())) return;
    if (is_one()) {
        knowledge next = first_;
        change(next);
        if (next == first_) return;
    }
    promise(*this, part).update(part, change);
}

template <class Change>
void directory::update_all(std::span<const region> parts, const Change& change) {
    if (parts.empty()) return;
    byte_range hull;
    for (const region& each : parts) hull = hull.joined_with(each.hull());
    promise in(*this, hull);
    for (const region& each : parts) in.divide(each);
    for (const region& each : parts) in.update(each, change);
}

template <class Change>
void directory::update_all(const byte_ranges& ranges, const Change& change) {
    if (ranges.empty()) return;
    promise in(*this, ranges.hull());
    in.divide(ranges);
    for (const byte_range& each : ranges) in.update(each, change);
}

}  // namespace unibuf::coherence
