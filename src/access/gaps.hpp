// access/gaps.hpp: which gaps between bytes that move go along, as one longer transfer is cheaper than two, and which
// transfers are cut.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "buffer/core.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

/// Joins neighbours of `ranges` where it is cheaper to carry the gap between them along. A gap is carried only where it
/// is current at both ends, in `claimed`, and no hold but that claim, of `ticket`, has a byte of it.
std::vector<byte_range> joined_over_gaps(const guarded& state, const std::vector<byte_range>& ranges,
                                         const coherence::step& along, coherence::space_id executor,
                                         const region& claimed, std::uint64_t ticket);

/// Adds the steps, with long moves of ranges cut into parts, at multiples of `most` bytes.
void add_in_parts(std::span<const coherence::step> whole, std::size_t most, coherence::steps& to);

}  // namespace unibuf::detail
