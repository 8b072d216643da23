// coherence/directory.hpp: which bytes are current where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "coherence/byte_ranges.hpp"
#include "coherence/spaces.hpp"

namespace unibuf::coherence {

enum class content : std::uint8_t {
    unwritten,  // nobody has written these bytes: they are zero for every reader
    settled,    // written, and in step with another space since
    written,    // written by the one space that is current
};

/// Pointers into the host's copy, through which it may be written at any time, without a word.
enum class pointers : std::uint8_t {
    none,     // no pointers are out
    assumed,  // pointers are out: as long as the host is current, it is taken for written
    watched,  // pointers are out, and what is written through them is found
    fresh,    // as watched, into memory that nobody had touched before: what is touched is written
};

/// The knowledge of a range of bytes.
struct knowledge {
    space_set current = 0;  // the spaces that see the newest content
    content what = content::unwritten;
    pointers out = pointers::none;
    bool open : 1 = false;  // the one device that is current may write these bytes at any time, without a word
    bool lost : 1 =
        false;  // the work that was to make these bytes has failed: nobody reads them before they are written
    bool contested : 1 =
        false;  // the host was written too: nobody reads them before it is said which of the two stands

    bool exposed() const noexcept { return out != pointers::none; }
    bool watched() const noexcept { return out == pointers::watched; }
    bool at_host() const noexcept { return has(current, host); }
    bool taken_for_written() const noexcept { return out == pointers::assumed && at_host(); }

    friend bool operator==(const knowledge&, const knowledge&) = default;
};
static_assert(sizeof(knowledge) == 8, "one for each range of each buffer");

/// The knowledge of all bytes of a buffer together.
struct summary {
    space_set current = 0;     // the spaces that are current in all bytes
    space_set written_by = 0;  // the one space that wrote all bytes, if one did
    bool all_exposed = true;
    bool all_assumed = true;  // all are pointers::assumed
    bool any_exposed = false;
    bool any_open = false;
    bool any_lost = false;
    bool any_contested = false;

    /// Returns whether `where` alone is current in all bytes, and has written them.
    bool written_at(space_id where) const noexcept { return written_by == set_of(where); }

    friend bool operator==(const summary&, const summary&) = default;
};

/// A map of byte ranges, each with what is known of it. Neighbours that are known alike are one range, so a buffer that
/// is whole everywhere is one range and needs no memory beyond this object. Looking up is logarithmic in the number of
/// ranges; a change moves what is behind it.
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
    std::size_t ranges() const noexcept { return many_ ? 1 + many_->later.size() : 1; }

    /// Returns what is known of the first range: of all bytes where ranges() is 1.
    const knowledge& first() const noexcept { return first_; }

    /// Returns what is known of all bytes. Linear in the number of distinct kinds of knowledge, not in that of the
    /// ranges.
    coherence::summary summarize() const noexcept;

    /// Calls visit(byte_range, const knowledge&) for each piece of `range`, in order.
    template <class Visit>
    void for_each(byte_range range, Visit visit) const {
        range = range.clipped_to(whole());
        if (range.empty()) return;
        for (std::size_t i = index_at(range.begin); i < ranges() && begin_of(i) < range.end; ++i) {
            visit(range.clipped_to({begin_of(i), begin_of(i + 1)}), known(i));
        }
    }

    /// Returns the pieces of `range` of which is(const knowledge&) holds.
    template <class Is>
    byte_ranges where(byte_range range, Is is) const {
        byte_ranges result;
        for_each(range, [&](byte_range piece, const knowledge& k) {
            if (std::invoke(is, k)) result.add(piece);
        });
        return result;
    }

    template <class Is>
    bool any(byte_range range, Is is) const {
        bool result = false;
        for_each(range, [&](byte_range, const knowledge& k) { result |= std::invoke(is, k); });
        return result;
    }

    /// Returns the first piece of `range` of which is(const knowledge&) holds. Empty where there is none.
    template <class Is>
    byte_range first_where(byte_range range, Is is) const {
        byte_range result;
        for_each(range, [&](byte_range piece, const knowledge& k) {
            if (result.empty() && std::invoke(is, k)) result = piece;
        });
        return result;
    }

    /// Calls change(knowledge&), which depends on nothing else, for each piece of `range`. Splits at its ends, and
    /// joins what has become alike.
    template <class Change>
    void update(byte_range range, Change change) {
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

    /// Calls change(knowledge&) for each piece of many ranges, in one pass.
    template <class Change>
    void update(const byte_ranges& ranges, Change change) {
        if (ranges.count() <= few) {
            for (const byte_range& each : ranges) update(each, change);
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
        return one.bytes_ == other.bytes_ && one.first_ == other.first_ &&
               std::ranges::equal(one.later(), other.later());
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
    };

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
    void give_back();
    share& share_of(const knowledge& k);
    void count(const knowledge& before, const knowledge& after, std::size_t bytes) noexcept;

    static constexpr std::size_t few = 8;

    std::size_t bytes_;
    knowledge first_;
    std::unique_ptr<many> many_;  // null where there has never been more than one range
};

}  // namespace unibuf::coherence
