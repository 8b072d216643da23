// tests/unit/any_region.hpp: small lattices, and ranges and boxes of them, for properties.
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "coherence/region.hpp"

namespace unibuf::test {

/// Returns two lattices of the same bytes: that of an array of up to 4 axes, and that of the same bytes in rows.
inline std::vector<lattice> any_lattices() {
    lattice on{.pitch = {}, .axes = static_cast<std::uint8_t>(*rc::gen::inRange(2, 5))};
    std::size_t pitch = 1;
    for (std::size_t axis = on.axes; axis-- != 0;) {
        on.pitch[axis] = pitch;
        pitch *= *rc::gen::inRange<std::size_t>(1, 5);
    }
    const lattice rows{.pitch = {pitch, 1}, .axes = 2};
    return {on, rows};
}

inline std::size_t bytes_of(const std::vector<lattice>& all) {
    const std::size_t planes = 3;
    return all.back().pitch[0] * planes;
}

inline region any_region(const std::vector<lattice>& all, std::size_t bytes) {
    const auto part_of = [](std::size_t extent) {
        const auto begin = *rc::gen::inRange<std::size_t>(0, extent);
        return byte_range{begin, *rc::gen::inRange<std::size_t>(begin + 1, extent + 1)};
    };
    if (*rc::gen::inRange(0, 3) == 0) return part_of(bytes);
    const lattice& on = *rc::gen::elementOf(all);
    box made{.on = on};
    for (std::size_t axis = 0; axis < on.axes; ++axis) {
        const byte_range indices = part_of(axis == 0 ? bytes / on.pitch[0] : on.extent(axis));
        made.begin[axis] = indices.begin;
        made.end[axis] = indices.end;
    }
    return region(made);
}

/// Returns the offsets of all bytes of a region, found by the definition of a box.
inline std::vector<std::size_t> bytes_of(const region& part) {
    std::vector<std::size_t> result;
    for (std::size_t at = part.begin(); at < part.end(); ++at) {
        bool inside = true;
        if (const box* const of = part.as_box()) {
            std::size_t left = at;
            for (std::size_t axis = 0; axis < of->on.axes; ++axis) {
                const std::size_t index = left / of->on.pitch[axis];
                left %= of->on.pitch[axis];
                inside &= of->begin[axis] <= index && index < of->end[axis];
            }
        }
        if (inside) result.push_back(at);
    }
    return result;
}

}  // namespace unibuf::test
