// tracking/held_ranges.hpp: which bytes somebody may touch at any time, without a word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "coherence/region.hpp"

namespace unibuf::detail {

/// A coverage counts how many hold each byte. Adding and removing are logarithmic in the number of ends of held ranges,
/// and linear in the ends within the range itself, however many holders there are. Removing what was added allocates
/// nothing.
class coverage {
public:
    void add(byte_range range);
    void remove(byte_range range) noexcept;

    bool any() const noexcept { return !ends_.empty(); }
    bool any(byte_range range) const noexcept;

    /// Adds the pieces of `range` that are held to `to`.
    void collect(byte_range range, byte_ranges& to) const;

private:
    struct end {
        std::uint32_t holders = 0;  // number that hold the bytes from here to the next end
        std::uint32_t uses = 0;     // number of held ranges that begin or end here
    };
    using all_ends = std::map<std::size_t, end>;

    all_ends::iterator use(std::size_t offset);
    void leave(std::size_t offset) noexcept;

    all_ends ends_;
};

/// Undeclared holds of one kind at one space: pointers, which end all at once, and views, which end one by one.
class held_ranges {
public:
    void add_pointer(const byte_ranges& ranges) { pointers_.add(ranges); }
    void end_pointers(const byte_ranges& ranges) { pointers_.take_out(ranges); }

    void add_view(byte_range range) { views_.add(range); }
    void end_view(byte_range range) noexcept { views_.remove(range); }

    /// Both are about a view of a box, which `number` stands for. One that was not added is not ended.
    void add_view_of_box(const region& part, std::uint64_t number) { boxes_.push_back({number, part}); }
    void end_view_of_box(std::uint64_t number) noexcept;

    bool any() const noexcept { return any_pointer() || any_view(); }
    bool any(const region& part) const noexcept;
    bool any_pointer() const noexcept { return !pointers_.empty(); }
    bool any_view() const noexcept { return views_.any() || !boxes_.empty(); }
    bool any_view(const region& part) const noexcept;

    /// Returns whether pointers, which nobody ends one by one, cover all of `range`.
    bool for_good(byte_range range) const noexcept { return pointers_.bytes_in(range) == range.size(); }

    /// Returns the bytes of `range` that somebody holds.
    byte_ranges of(byte_range range) const;

private:
    struct view_of_box {
        std::uint64_t number;
        region part;
    };

    byte_ranges pointers_;
    coverage views_;
    std::vector<view_of_box> boxes_;
};

}  // namespace unibuf::detail
