// coherence/byte_ranges.hpp: a set of bytes, as ranges.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"

namespace unibuf {

/// A set whose ranges are in order, apart from each other, and none of them empty. Every function is linear in the
/// number of ranges at the most. To add one range or to take it out moves the ranges behind it, and is cheap at the end
/// of the set.
class byte_ranges {
public:
    byte_ranges() = default;
    byte_ranges(byte_range only);

    /// Makes a set of ranges in any order, which may overlap.
    static byte_ranges of(std::vector<byte_range> any);

    bool empty() const noexcept { return all_.empty(); }
    std::size_t count() const noexcept { return all_.size(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }
    operator std::span<const byte_range>() const noexcept { return all_; }

    /// Returns the range from the first byte to the last. Empty where there are none.
    byte_range hull() const noexcept {
        return all_.empty() ? byte_range() : byte_range{all_.front().begin, all_.back().end};
    }

    std::size_t bytes_in(byte_range range) const noexcept;
    byte_ranges clipped_to(byte_range range) const;

    void add(byte_range range);
    void add(const byte_ranges& more);
    void take_out(byte_range range);
    void take_out(const byte_ranges& less);

    friend bool operator==(const byte_ranges&, const byte_ranges&) = default;

private:
    using iterator = std::vector<byte_range>::const_iterator;

    /// Returns the first range that ends behind `offset`.
    iterator from(std::size_t offset) const noexcept;

    std::vector<byte_range> all_;
};

}  // namespace unibuf
