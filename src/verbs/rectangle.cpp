// verbs/rectangle.cpp: slices of an array as boxes of a lattice.
#include "verbs/rectangle.hpp"

#include <fmt/format.h>

#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// Returns the indices from the first to behind the last.
byte_range indices_of(const std::string& name, const slice& along, std::size_t axis, std::size_t extent) {
    const std::size_t stop = along.stop == rest ? extent : along.stop;
    if (stop > extent || along.start > extent) {
        const auto as_given = [](std::size_t index) { return static_cast<std::ptrdiff_t>(index); };  // may be negative
        throw error(error_code::out_of_range, fmt::format("{}: indices [{}, {}) along axis {} were asked for, of {}",
                                                          name, as_given(along.start), as_given(stop), axis, extent));
    }
    if (along.start >= stop || along.step == 0) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: indices [{}, {}) in steps of {} along axis {} were asked for: a rectangle has one "
                                "index at least along each axis, and steps of 1 at least",
                                name, along.start, stop, along.step, axis));
    }
    return {along.start, along.start + (stop - along.start - 1) / along.step * along.step + 1};
}

/// Returns the number of axes that are left out: those of one index, where the array begins within their rows.
std::size_t first_axis(std::size_t begin, const shape& extents, std::size_t element_bytes) {
    std::size_t first = 0;
    while (first + 1 < extents.rank() && extents[first] == 1) ++first;
    return begin % (extents.elements() * element_bytes) == 0 ? 0 : first;
}

}  // namespace

rectangle rectangle_of(const std::string& name, std::size_t begin, const shape& extents, std::size_t element_bytes,
                       std::span<const slice> along) {
    if (extents.rank() == 0 || along.size() != extents.rank()) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: a rectangle with {} slices of an array of {} axes was asked for: there is a slice "
                                "for each axis, of which there is 1 at least",
                                name, along.size(), extents.rank()));
    }
    const std::size_t first = first_axis(begin, extents, element_bytes);
    rectangle result;
    box of{.on = {.pitch = {}, .axes = static_cast<std::uint8_t>(extents.rank() - first)}};
    std::size_t pitch = 1;
    for (std::size_t axis = extents.rank(); axis-- != 0;) {
        const byte_range indices = indices_of(name, along[axis], axis, extents[axis]);
        if (axis < first) continue;
        const std::size_t at = axis - first;
        const std::size_t bytes = at == of.on.last() ? element_bytes : 1;
        of.on.pitch[at] = pitch;
        of.begin[at] = indices.begin * bytes;
        of.end[at] = indices.end * bytes;
        pitch *= extents[axis] * bytes;
        result.has_gaps |= along[axis].step != 1 && indices.size() > 1;
    }
    if (begin % of.on.pitch[0] != 0) {
        throw error(
            error_code::invalid_argument,
            fmt::format("{}: a rectangle of an array that begins at byte {} was asked for: it has to begin with "
                        "a row, whose size is {} bytes",
                        name, begin, of.on.pitch[0]));
    }
    of.begin[0] += begin / of.on.pitch[0];
    of.end[0] += begin / of.on.pitch[0];
    result.part = region(of);
    return result;
}

}  // namespace unibuf::detail
