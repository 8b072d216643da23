// backends/rectangle.cpp: rectangles of bytes, how drivers take them, and their copies by the CPU.
#include "backends/rectangle.hpp"

#include <cstring>

namespace unibuf::backends {
namespace {

/// The rows along the last axis.
struct line {
    std::size_t rows;
    std::size_t row_bytes;
    std::size_t to_pitch;
    std::size_t from_pitch;
};

/// Copies rows of a size that the compiler knows: each is a load and a store, no call. Many rows that are far apart are
/// asked for some rows ahead, as no processor foresees them; of a few it has all under way soon. Rows whose pitch is a
/// power of two share one set of a cache, which has room for 8 at least. Stores wait for nothing: to ask for their
/// lines costs more than it saves.
template <std::size_t Bytes>
void copy_line(const line& of, std::byte* to, const std::byte* from) noexcept {
    constexpr std::size_t ahead = 8, few = 512;
    const std::size_t asked = of.rows > few ? of.rows - ahead : 0;
    std::size_t row = 0;
    for (; row < asked; ++row) {
        __builtin_prefetch(from + (row + ahead) * of.from_pitch);
        std::memcpy(to + row * of.to_pitch, from + row * of.from_pitch, Bytes);
    }
    for (; row < of.rows; ++row) std::memcpy(to + row * of.to_pitch, from + row * of.from_pitch, Bytes);
}

void copy_any_line(const line& of, std::byte* to, const std::byte* from) noexcept {
    for (std::size_t row = 0; row < of.rows; ++row) {
        std::memcpy(to + row * of.to_pitch, from + row * of.from_pitch, of.row_bytes);
    }
}

using line_copy = void(const line&, std::byte*, const std::byte*) noexcept;

line_copy* copy_for(std::size_t row_bytes) noexcept {
    switch (row_bytes) {
        case 1:
            return copy_line<1>;
        case 2:
            return copy_line<2>;
        case 4:
            return copy_line<4>;
        case 8:
            return copy_line<8>;
        case 12:
            return copy_line<12>;
        case 16:
            return copy_line<16>;
        case 24:
            return copy_line<24>;
        case 32:
            return copy_line<32>;
        default:
            return copy_any_line;
    }
}

}  // namespace

rectangle_copy::end rectangle_copy::end::without_gaps(std::size_t row_bytes, std::size_t axes,
                                                      const per_axis& counts) noexcept {
    end result;
    std::size_t pitch = row_bytes;
    for (std::size_t axis = axes; axis-- > 0;) {
        result.pitches[axis] = pitch;
        pitch *= counts[axis];
    }
    return result;
}

std::size_t rectangle_copy::rows() const noexcept {
    std::size_t result = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) result *= counts[axis];
    return result;
}

std::size_t rectangle_copy::span_of(const end& of) const noexcept {
    std::size_t result = row_bytes;
    for (std::size_t axis = 0; axis < axes; ++axis) result += (counts[axis] - 1) * of.pitches[axis];
    return result;
}

rectangle_copy rectangle_copy::folded() const noexcept {
    rectangle_copy result{.row_bytes = row_bytes, .here = {.offset = here.offset}, .there = {.offset = there.offset}};
    // From the inside, so that an axis meets what all the axes inside it have become. The axes are turned at the end.
    for (std::size_t axis = axes; axis-- > 0;) {
        const std::size_t count = counts[axis];
        if (count == 1) continue;
        const std::size_t pitch_here = here.pitches[axis];
        const std::size_t pitch_there = there.pitches[axis];
        if (result.axes == 0 && pitch_here == result.row_bytes && pitch_there == result.row_bytes) {
            result.row_bytes *= count;
            continue;
        }
        if (result.axes > 0) {
            const std::size_t inner = result.axes - 1;
            std::size_t& inner_count = result.counts[inner];
            if (pitch_here == inner_count * result.here.pitches[inner] &&
                pitch_there == inner_count * result.there.pitches[inner]) {
                inner_count *= count;
                continue;
            }
        }
        result.counts[result.axes] = count;
        result.here.pitches[result.axes] = pitch_here;
        result.there.pitches[result.axes] = pitch_there;
        ++result.axes;
    }
    for (std::size_t i = 0; i < result.axes / 2; ++i) {
        const std::size_t other = result.axes - 1 - i;
        std::swap(result.counts[i], result.counts[other]);
        std::swap(result.here.pitches[i], result.here.pitches[other]);
        std::swap(result.there.pitches[i], result.there.pitches[other]);
    }
    return result;
}

rectangle_copy rectangle_copy::turned() const noexcept {
    rectangle_copy result = *this;
    std::swap(result.here, result.there);
    return result;
}

void copy_rows(const rectangle_copy& what, std::byte* here, const std::byte* there) noexcept {
    const rectangle_copy all = what.folded();
    if (here + all.here.offset == there + all.there.offset && all.here.pitches == all.there.pitches) return;
    line each{.rows = 1, .row_bytes = all.row_bytes, .to_pitch = 0, .from_pitch = 0};
    std::size_t outer = all.axes;
    if (outer > 0) {
        --outer;
        each = {all.counts[outer], all.row_bytes, all.here.pitches[outer], all.there.pitches[outer]};
    }
    line_copy* const copy = copy_for(all.row_bytes);
    all.for_each_index(outer, [&](std::size_t to, std::size_t from) { copy(each, here + to, there + from); });
}

}  // namespace unibuf::backends
