// tracking/units.hpp: memory, cut into units, which are what a write is found by.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <functional>
#include <iterator>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/byte_ranges.hpp"
#include "containers/room.hpp"

namespace unibuf::tracking {

/// Adds a range behind the others, to the last one where the two touch.
inline void append(std::vector<byte_range>& to, byte_range next) {
    if (!to.empty() && to.back().end == next.begin) {
        to.back().end = next.end;
    } else {
        to.push_back(next);
    }
}

/// Empties a list that is used again and again.
template <class T>
void empty_out(std::vector<T>& list) noexcept {
    list.clear();
    give_back(list);
}

/// Returns the first entry of a map that ends behind `offset`. An entry begins at its key, and end_of(value) is its
/// end.
template <class Map, class EndOf>
auto first_behind(Map& entries, std::size_t offset, const EndOf& end_of) noexcept {
    auto result = entries.upper_bound(offset);
    if (result != entries.begin() && offset < std::invoke(end_of, std::prev(result)->second)) --result;
    return result;
}

struct units {
    std::size_t each = 1;
    std::size_t memory = 0;  // size of the memory, of which the last unit may have only a part
    std::size_t lead = 0;    // bytes before the first whole unit, which are a unit of their own

    /// Returns all units that `range` has a byte of.
    constexpr byte_range around(byte_range range) const noexcept {
        return {down(range.begin), std::min(up(range.end), memory)};
    }

    byte_ranges around(const byte_ranges& ranges) const {
        byte_ranges result;
        for (const byte_range& range : ranges) result.add(around(range));
        return result;
    }

    /// Returns the units that `range` has all of. Empty where there are none.
    constexpr byte_range within(byte_range range) const noexcept {
        const byte_range inner{up(range.begin), range.end == memory ? memory : down(range.end)};
        return inner.empty() ? byte_range{} : inner;
    }

    /// Returns the units that `range` has only a part of: two at the most. REQUIRES: `range` is not empty.
    std::vector<byte_range> cut_by(byte_range range) const {
        assert(!range.empty());
        std::vector<byte_range> result;
        const byte_range first = of(range.begin);
        const byte_range last = of(range.end - 1);
        if (!range.contains(first)) result.push_back(first);
        if (last != first && !range.contains(last)) result.push_back(last);
        return result;
    }

    /// Calls visit(byte_range) for each unit that `ranges`, which are whole units, have.
    template <class Visit>
    void for_each(const byte_ranges& ranges, const Visit& visit) const {
        for (const byte_range& range : ranges) {
            for (std::size_t at = range.begin; at < range.end;) {
                const byte_range unit = of(at);
                visit(unit);
                at = unit.end;
            }
        }
    }

    constexpr byte_range of(std::size_t offset) const noexcept { return around({offset, offset + 1}); }

private:
    constexpr std::size_t down(std::size_t offset) const noexcept {
        return offset < lead ? 0 : lead + (offset - lead) / each * each;
    }
    constexpr std::size_t up(std::size_t offset) const noexcept {
        if (offset <= lead) return offset == 0 ? 0 : lead;
        return down(offset + each - 1);
    }
};

}  // namespace unibuf::tracking
