// backends/rectangle.hpp: rectangles of bytes, how drivers take them, and their copies by the CPU.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

namespace unibuf::backends {

/// A rectangle_copy says which bytes are copied, and how they lie at either end: rows that lie together, again and
/// again along up to seven axes, the outermost first.
///
/// No size and no count is 0. A pitch is at least what lies inside one step of its axis: the count times the pitch of
/// the next axis, or the bytes of a row. So rows do not overlap.
struct rectangle_copy {
    static constexpr std::size_t most_axes = 7;
    using per_axis = std::array<std::size_t, most_axes>;

    struct end {
        std::size_t offset = 0;  // of the first byte
        per_axis pitches{};      // from one index to the next along each axis, in bytes

        /// Returns an end without gaps: rows one behind the other.
        static end without_gaps(std::size_t row_bytes, std::size_t axes, const per_axis& counts) noexcept;

        friend bool operator==(const end&, const end&) = default;
    };

    std::size_t row_bytes = 0;
    std::size_t axes = 0;
    per_axis counts{};
    end here{};   // in the memory whose function is called, whichever way the bytes go
    end there{};  // from an address of the host on, or in another memory

    std::size_t rows() const noexcept;
    std::size_t bytes() const noexcept { return rows() * row_bytes; }

    /// Returns the bytes from the first to the last at that end, gaps among them.
    std::size_t span_of(const end& of) const noexcept;

    /// Returns the same copy, of as few axes and as long rows as there can be.
    rectangle_copy folded() const noexcept;

    /// Returns the same copy the other way: its ends change places.
    rectangle_copy turned() const noexcept;

    /// Calls visit(here, there) with the offsets of each row, in order.
    template <class Visit>
    void for_each_row(const Visit& visit) const {
        for_each_index(axes, visit);
    }

    /// Calls visit(here, there) with the offsets of each index of the first `outer` axes, in order.
    template <class Visit>
    void for_each_index(std::size_t outer, const Visit& visit) const {
        per_axis index{};
        std::size_t at_here = here.offset;
        std::size_t at_there = there.offset;
        for (;;) {
            visit(at_here, at_there);
            std::size_t axis = outer;
            for (; axis > 0; --axis) {
                const std::size_t which = axis - 1;
                at_here += here.pitches[which];
                at_there += there.pitches[which];
                if (++index[which] < counts[which]) break;
                at_here -= counts[which] * here.pitches[which];
                at_there -= counts[which] * there.pitches[which];
                index[which] = 0;
            }
            if (axis == 0) return;
        }
    }
};

/// What drivers copy by one call: rows in a plane, and planes, which they call slices.
struct slab {
    struct end {
        std::size_t offset = 0;
        std::size_t row_pitch = 0;
        std::size_t slice_pitch = 0;  // a multiple of the row pitch
    };

    std::size_t row_bytes = 0;
    std::size_t rows = 1;
    std::size_t slices = 1;
    end here{};
    end there{};
};

/// Calls visit(slab) for as few slabs as there can be, in order.
template <class Visit>
void for_each_slab(const rectangle_copy& what, const Visit& visit) {
    const rectangle_copy all = what.folded();
    slab each{.row_bytes = all.row_bytes};
    const auto measure = [&](slab::end& of, const rectangle_copy::end& in) {
        of.row_pitch = all.axes > 0 ? in.pitches[all.axes - 1] : all.row_bytes;
    };
    measure(each.here, all.here);
    measure(each.there, all.there);
    std::size_t outer = all.axes;
    if (outer > 0) each.rows = all.counts[--outer];
    each.here.slice_pitch = each.rows * each.here.row_pitch;
    each.there.slice_pitch = each.rows * each.there.row_pitch;
    const bool has_slices = outer > 0 && all.here.pitches[outer - 1] % each.here.row_pitch == 0 &&
                            all.there.pitches[outer - 1] % each.there.row_pitch == 0;
    if (has_slices) {
        each.slices = all.counts[--outer];
        each.here.slice_pitch = all.here.pitches[outer];
        each.there.slice_pitch = all.there.pitches[outer];
    }
    all.for_each_index(outer, [&](std::size_t here, std::size_t there) {
        each.here.offset = here;
        each.there.offset = there;
        visit(std::as_const(each));
    });
}

/// Copies, by the CPU, from `there` to `here`; nothing where both are the same bytes. Rows of a few bytes take no
/// longer than in a loop that is written for them.
void copy_rows(const rectangle_copy& what, std::byte* here, const std::byte* there) noexcept;

}  // namespace unibuf::backends
