// coherence/region.hpp: the bytes of one access: a range, or a box of rows that lie apart.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coherence/byte_ranges.hpp"
#include "unibuf/shape.hpp"

namespace unibuf {

/// A row-major array of bytes that a buffer is seen as. The last axis is bytes; the pitch of each other axis is a
/// multiple of the next one's, so that every offset is one point, with one index along each axis.
struct lattice {
    std::array<std::size_t, shape::max_rank> pitch{};  // bytes from one index to the next; 1 along the last axis
    std::uint8_t axes = 0;

    std::size_t last() const noexcept { return axes - std::size_t{1}; }

    /// Returns the number of indices along an axis that is not the first.
    std::size_t extent(std::size_t axis) const noexcept { return pitch[axis - 1] / pitch[axis]; }

    friend bool operator==(const lattice&, const lattice&) = default;
};

/// The points of a lattice with begin[axis] <= index < end[axis] along each axis. Never empty.
struct box {
    lattice on;
    std::array<std::size_t, shape::max_rank> begin{};
    std::array<std::size_t, shape::max_rank> end{};

    std::size_t extent(std::size_t axis) const noexcept { return end[axis] - begin[axis]; }
    bool is_full(std::size_t axis) const noexcept { return extent(axis) == on.extent(axis); }

    /// Returns the last axis that is not full, or the first: bytes behind it follow each other.
    std::size_t last_cut() const noexcept {
        std::size_t axis = on.last();
        while (axis != 0 && is_full(axis)) --axis;
        return axis;
    }

    std::size_t first_byte() const noexcept {
        std::size_t offset = 0;
        for (std::size_t axis = 0; axis < on.axes; ++axis) offset += begin[axis] * on.pitch[axis];
        return offset;
    }

    std::size_t size() const noexcept {
        std::size_t bytes = 1;
        for (std::size_t axis = 0; axis < on.axes; ++axis) bytes *= extent(axis);
        return bytes;
    }

    /// Returns the smallest range that has all bytes.
    byte_range hull() const noexcept {
        std::size_t last = 0;
        for (std::size_t axis = 0; axis < on.axes; ++axis) last += (end[axis] - 1) * on.pitch[axis];
        return {first_byte(), last + 1};
    }

    /// Both are about a box of the same lattice.
    bool overlaps(const box& other) const noexcept {
        for (std::size_t axis = 0; axis < on.axes; ++axis) {
            if (begin[axis] >= other.end[axis] || other.begin[axis] >= end[axis]) return false;
        }
        return true;
    }
    bool contains(const box& other) const noexcept {
        for (std::size_t axis = 0; axis < on.axes; ++axis) {
            if (other.begin[axis] < begin[axis] || other.end[axis] > end[axis]) return false;
        }
        return true;
    }

    /// Returns the points of both, of which there are some.
    box clipped_to(const box& other) const noexcept {
        box result = *this;
        for (std::size_t axis = 0; axis < on.axes; ++axis) {
            result.begin[axis] = std::max(begin[axis], other.begin[axis]);
            result.end[axis] = std::min(end[axis], other.end[axis]);
        }
        return result;
    }

    friend bool operator==(const box&, const box&) = default;
};

/// Calls visit(const box&) for boxes that make up `range`, in order: at most two less one for each axis.
template <class Visit>
void for_each_box(byte_range range, const lattice& on, Visit visit) {
    if (range.empty()) return;
    box made{.on = on};
    const auto cut = [&](const auto& again, std::size_t axis, byte_range left) -> void {
        const std::size_t pitch = on.pitch[axis];
        const auto inside = [&](std::size_t index, byte_range part) {
            made.begin[axis] = index;
            made.end[axis] = index + 1;
            again(again, axis + 1, part);
        };
        std::size_t first = left.begin / pitch;
        const std::size_t last = left.end / pitch;
        const byte_range cuts{left.begin % pitch, left.end % pitch};
        if (first == last) return inside(first, cuts);
        if (cuts.begin != 0) inside(first++, {cuts.begin, pitch});
        if (first != last) {
            made.begin[axis] = first;
            made.end[axis] = last;
            for (std::size_t inner = axis + 1; inner < on.axes; ++inner) {
                made.begin[inner] = 0;
                made.end[inner] = on.extent(inner);
            }
            visit(std::as_const(made));
        }
        if (cuts.end != 0) inside(last, {0, cuts.end});
    };
    cut(cut, 0, range);
}

/// A range, or a box that is none. Small, and cheap to copy.
class region {
public:
    region() = default;
    region(byte_range only) noexcept : hull_(only) {}
    region(std::size_t begin, std::size_t end) noexcept : hull_{begin, end} {}
    region(const box& of);

    bool is_range() const noexcept { return !box_; }
    bool empty() const noexcept { return hull_.empty(); }

    /// Returns the smallest range that has all bytes: the region itself where it is a range.
    byte_range hull() const noexcept { return hull_; }
    std::size_t begin() const noexcept { return hull_.begin; }
    std::size_t end() const noexcept { return hull_.end; }

    /// Returns the number of bytes.
    std::size_t size() const noexcept { return box_ ? box_->size() : hull_.size(); }

    /// Returns the number of runs, of bytes that follow each other.
    std::size_t runs() const noexcept;

    /// Returns the box; null where this is a range.
    const box* as_box() const noexcept { return box_.get(); }

    bool overlaps(const region& other) const noexcept {
        if (!hull_.overlaps(other.hull_)) return false;
        return (is_range() && other.is_range()) || overlaps_exactly(other);
    }
    bool contains(const region& other) const noexcept {
        if (!hull_.contains(other.hull_)) return false;
        return is_range() || other.empty() || contains_exactly(other);
    }

    /// Calls visit(byte_range) for each run, in order.
    template <class Visit>
    void for_each_run(Visit visit) const {
        if (!is_range()) return for_each_run_of(*box_, visit);
        if (!empty()) visit(hull_);
    }

    /// Does so for the runs that share a byte with `range`, which is not empty, and some beside them: those that lie in
    /// the same indices of the first axis along which `range` has several.
    template <class Visit>
    void for_each_run_near(byte_range range, Visit visit) const {
        if (is_range()) return for_each_run(visit);
        box near = *box_;
        for (std::size_t axis = 0; axis < near.on.axes; ++axis) {
            const std::size_t pitch = near.on.pitch[axis];
            const std::size_t first = range.begin / pitch;
            const std::size_t last = (range.end - 1) / pitch;
            near.begin[axis] = std::max(near.begin[axis], first);
            near.end[axis] = std::min(near.end[axis], last + 1);
            if (near.begin[axis] >= near.end[axis]) return;
            if (first != last) break;
            range = {range.begin - first * pitch, range.end - first * pitch};
        }
        for_each_run_of(near, visit);
    }

    /// Calls visit(const region&) for parts that make up the bytes that are in `other` too.
    template <class Visit>
    void for_each_common(const region& other, Visit visit) const {
        if (!hull_.overlaps(other.hull_)) return;
        if (contains(other)) return visit(other);
        if (is_range() && other.is_range()) return visit(region(hull_.clipped_to(other.hull_)));
        if (is_range()) return other.for_each_common(*this, visit);
        const auto clip = [&](const box& part) {
            if (box_->overlaps(part)) visit(region(box_->clipped_to(part)));
        };
        if (other.is_range()) {
            for_each_box(other.hull_, box_->on, clip);
        } else if (other.box_->on == box_->on) {
            clip(*other.box_);
        } else {
            other.for_each_run([&](byte_range run) { for_each_box(run, box_->on, clip); });
        }
    }

    /// Returns parts that make up the bytes that are in `other` too.
    std::vector<region> common_with(const region& other) const {
        std::vector<region> result;
        for_each_common(other, [&](const region& part) { result.push_back(part); });
        return result;
    }

    friend bool operator==(const region& one, const region& other) noexcept {
        if (one.hull_ != other.hull_ || one.is_range() != other.is_range()) return false;
        return one.box_ == other.box_ || *one.box_ == *other.box_;
    }

private:
    template <class Visit>
    static void for_each_run_of(const box& of, Visit visit) {
        const std::size_t inner = of.last_cut();
        const std::size_t bytes = of.extent(inner) * of.on.pitch[inner];
        std::array<std::size_t, shape::max_rank> index = of.begin;
        for (std::size_t offset = of.first_byte();;) {
            visit(byte_range{offset, offset + bytes});
            std::size_t axis = inner;
            for (; axis-- != 0;) {
                offset += of.on.pitch[axis];
                if (++index[axis] != of.end[axis]) break;
                offset -= of.extent(axis) * of.on.pitch[axis];
                index[axis] = of.begin[axis];
            }
            if (axis == std::size_t(-1)) return;
        }
    }

    bool overlaps_exactly(const region& other) const noexcept;
    bool contains_exactly(const region& other) const noexcept;

    byte_range hull_{};
    std::shared_ptr<const box> box_{};
};

/// Returns "bytes [0, 64)", or "4 rows among bytes [0, 64)".
std::string describe(const region& of);

/// Returns how many bytes there are in regions, each counted for itself.
inline std::size_t bytes_in(std::span<const region> parts) noexcept {
    std::size_t result = 0;
    for (const region& each : parts) result += each.size();
    return result;
}

/// Returns the runs of a region, or of the bytes that are in two.
byte_ranges runs_of(const region& of);
byte_ranges runs_of(const region& one, const region& other);

/// Returns both as one region, where `later` continues `one` along one axis.
std::optional<region> joined(const region& one, const region& later);

}  // namespace unibuf
