// backends/opencl/mapped_ranges.hpp: which bytes of a shared cl_mem are mapped, and what has to change.
//
// A mapping ends as a whole, and mappings that overlap are undefined where one is for writing. So the bytes are kept
// mapped in pieces that do not overlap, and what a piece has outside a range is mapped anew. Pure: no OpenCL in it.
#pragma once

#include <cstddef>
#include <vector>

namespace unibuf::backends::cl {

/// A mapping says how the host has a piece.
enum class mapping { none, read, write };

struct piece {
    std::size_t begin = 0;
    std::size_t end = 0;
    mapping how = mapping::read;

    friend bool operator==(const piece&, const piece&) = default;
};

/// A change of the mappings: the pieces to unmap, and then the pieces to map.
struct remapping {
    std::vector<piece> unmap;
    std::vector<piece> map;
};

/// Returns the change that makes [begin, end) mapped for the host as `least` says, or better. In both functions,
/// `pieces` are in order and do not overlap.
remapping for_host(const std::vector<piece>& pieces, std::size_t begin, std::size_t end, mapping least);

/// Returns the change that makes [begin, end) mapped for the host as `most` says, or not at all.
remapping for_device(const std::vector<piece>& pieces, std::size_t begin, std::size_t end, mapping most);

}  // namespace unibuf::backends::cl
