// verbs/rectangle.hpp: what a handle to a rectangle stands for.
#pragma once

#include <span>

#include "coherence/region.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::detail {

struct rectangle {
    region part;            // from the first element along each axis to the last
    bool has_gaps = false;  // whether elements between them are left out
};

/// Returns the rectangle of an array that begins at the byte `begin` of a buffer. Throws as buffer::view does; the
/// messages begin with `name`.
rectangle rectangle_of(const std::string& name, std::size_t begin, const shape& extents, std::size_t element_bytes,
                       std::span<const slice> along);

}  // namespace unibuf::detail
