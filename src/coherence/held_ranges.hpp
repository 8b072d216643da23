// coherence/held_ranges.hpp: which bytes somebody may touch at any time, without a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "coherence/range_tree.hpp"
#include "coherence/region.hpp"

namespace unibuf {

/// A view. It stays where it is in memory until it ends.
struct held_view {
    region part{};
    std::uint64_t number = 0;  // views are compared by it with standing holds; 0 for one that takes nothing from them
    bool writes_host = false;  // the host may write through it
    bool unseen = false;       // its memory may be written by what no page table shows: see buffer::io_view
    bool opened = false;       // system calls can write its pages: see host_writes::let_kernel_write

    byte_range range() const noexcept { return part.hull(); }
};

/// Undeclared holds of one kind at one space: pointers, which end all at once, and views, which end one by one. To add
/// a view or to end it is logarithmic in the number of views. A view of no bytes holds nothing.
class held_ranges {
public:
    void add_pointer(const byte_ranges& ranges) { pointers_.add(ranges); }
    void end_pointers(const byte_ranges& ranges) { pointers_.take_out(ranges); }
    void end_all_pointers() noexcept { pointers_ = {}; }

    /// Throws std::bad_alloc.
    held_view& add_view(held_view added) {
        held_view& result = tree_of(added).add(std::move(added));
        unseen_ += result.unseen;
        return result;
    }

    /// REQUIRES: add_view() has returned it, and it has not ended yet.
    void end_view(held_view& ended) noexcept {
        unseen_ -= ended.unseen;
        tree_of(ended).remove(ended);
    }

    bool any() const noexcept { return any_pointer() || any_view(); }
    bool any(const region& part) const noexcept;
    bool any_pointer() const noexcept { return !pointers_.empty(); }
    bool any_view() const noexcept {
        return !boxes_.empty() || ranges_.any([](const held_view& each) { return !each.part.empty(); });
    }
    bool any_view(const region& part) const noexcept {
        return any_view(part, [](const held_view&) { return true; });
    }

    /// Returns whether is(const held_view&) holds for a view that shares a byte with `part`; asks no more then.
    template <class Is>
    bool any_view(const region& part, const Is& is) const {
        const auto shares = [&](const held_view& each) { return each.part.overlaps(part) && is(each); };
        return ranges_.any(part.hull(), shares) || boxes_.any(part.hull(), shares);
    }

    /// Returns whether what no page table shows may write bytes of `part`.
    bool any_unseen(const region& part) const {
        return unseen_ != 0 && any_view(part, [](const held_view& each) { return each.unseen; });
    }

    /// Returns the bytes of `range` that it may write.
    byte_ranges unseen_of(byte_range range) const;

    /// Returns whether pointers, which nobody ends one by one, cover all of `range`.
    bool for_good(byte_range range) const noexcept { return pointers_.bytes_in(range) == range.size(); }

    /// Returns the bytes of `range` that somebody holds.
    byte_ranges of(byte_range range) const;

private:
    using tree = coherence::range_tree<held_view>;

    tree& tree_of(const held_view& which) noexcept { return which.part.is_range() ? ranges_ : boxes_; }

    byte_ranges pointers_;
    tree ranges_;
    tree boxes_;
    std::size_t unseen_ = 0;  // views that are
};

}  // namespace unibuf
