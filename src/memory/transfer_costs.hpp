// memory/transfer_costs.hpp: which gap between two parts is worth carrying.
#pragma once

#include <cstddef>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/spaces.hpp"

namespace unibuf::detail {

/// Returns how many bytes take as long as another transfer between the host and `device`, as was set or measured, or
/// as is usual. Measures nothing itself.
std::size_t worthwhile_gap(coherence::space_id device);

/// No wider gap is ever carried.
inline constexpr std::size_t widest_gap = std::size_t{1} << 20;

/// Joins neighbours of `ranges`, which are in order, where they are at most `gap` apart and `may_join` says so of the
/// bytes in between. Pure.
template <class MayJoin>
std::vector<byte_range> joined(const std::vector<byte_range>& ranges, std::size_t gap, MayJoin may_join) {
    std::vector<byte_range> result;
    for (const byte_range& each : ranges) {
        const bool near = !result.empty() && each.begin - result.back().end <= gap;
        if (near && may_join(byte_range{result.back().end, each.begin})) {
            result.back().end = each.end;
        } else {
            result.push_back(each);
        }
    }
    return result;
}

}  // namespace unibuf::detail
