// unibuf/detail/box_copies.hpp: a box of a buffer's grid, packed and unpacked: only its bytes move.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "unibuf/buffer.hpp"
#include "unibuf/detail/halo_sides.h"

namespace unibuf::detail {

/// Returns a handle to a box of the grid.
inline buffer box_of(buffer& grid, const unibuf_halo_shape& shape, const std::size_t* start, const std::size_t* count,
                     std::size_t element) {
    std::array<slice, UNIBUF_HALO_AXES> along{};
    for (std::size_t axis = 0; axis < shape.axes; ++axis) along[axis] = {start[axis], start[axis] + count[axis]};
    const std::span extents(shape.extents, shape.axes);
    return grid.view(unibuf::shape::of(extents), element, std::span(along).first(shape.axes));
}

inline void pack(buffer& from, const unibuf_halo_shape& shape, const std::size_t* start, const std::size_t* count,
                 std::size_t element, std::byte* to) {
    const buffer box = box_of(from, shape, start, count, element);
    box.copy_to(std::span(to, box.size_bytes()));
}

inline void unpack(buffer& to, const unibuf_halo_shape& shape, const std::size_t* start, const std::size_t* count,
                   std::size_t element, const std::byte* from) {
    buffer box = box_of(to, shape, start, count, element);
    box.copy_from(std::span(from, box.size_bytes()));
}

}  // namespace unibuf::detail
