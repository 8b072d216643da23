// coherence/region.cpp: the bytes of one access: a range, or a box of rows that lie apart.
#include "coherence/region.hpp"

#include <fmt/format.h>

namespace unibuf {
namespace {

/// Returns the region as one box of the lattice, where it is one.
std::optional<box> as_box_of(const lattice& on, const region& of) {
    std::optional<box> result;
    if (of.as_box() && of.as_box()->on == on) result = *of.as_box();
    if (of.as_box()) return result;
    std::size_t boxes = 0;
    for_each_box(of.hull(), on, [&](const box& part) {
        result = part;
        ++boxes;
    });
    return boxes == 1 ? result : std::nullopt;
}

}  // namespace

region::region(const box& of) : hull_(of.hull()) {
    if (of.size() != hull_.size()) box_ = std::make_shared<const box>(of);
}

std::size_t region::runs() const noexcept {
    if (is_range()) return empty() ? 0 : 1;
    std::size_t result = 1;
    for (std::size_t axis = box_->last_cut(); axis-- != 0;) result *= box_->extent(axis);
    return result;
}

bool region::overlaps_exactly(const region& other) const noexcept {
    if (is_range()) return other.overlaps_exactly(*this);
    if (!other.is_range() && other.box_->on == box_->on) return box_->overlaps(*other.box_);
    if (!other.is_range() && other.runs() > runs()) return other.overlaps_exactly(*this);
    bool result = false;
    other.for_each_run([&](byte_range run) {
        if (result || !run.overlaps(hull_)) return;
        for_each_box(run, box_->on, [&](const box& part) { result |= box_->overlaps(part); });
    });
    return result;
}

bool region::contains_exactly(const region& other) const noexcept {
    if (!other.is_range() && other.box_->on == box_->on) return box_->contains(*other.box_);
    bool result = true;
    other.for_each_run([&](byte_range run) {
        if (!result) return;
        for_each_box(run, box_->on, [&](const box& part) { result &= box_->contains(part); });
    });
    return result;
}

std::string describe(const region& of) {
    if (of.is_range()) return fmt::format("bytes [{}, {})", of.begin(), of.end());
    return fmt::format("{} rows among bytes [{}, {})", of.runs(), of.begin(), of.end());
}

byte_ranges runs_of(const region& of) {
    byte_ranges result;
    of.for_each_run([&](byte_range run) { result.add(run); });
    return result;
}

byte_ranges runs_of(const region& one, const region& other) {
    byte_ranges result;
    one.for_each_common(other, [&](const region& part) { result.add(runs_of(part)); });
    return result;
}

std::optional<region> joined(const region& one, const region& later) {
    if (one.is_range() && later.is_range()) {
        if (one.end() != later.begin()) return std::nullopt;
        return byte_range{one.begin(), later.end()};
    }
    const lattice& on = one.is_range() ? later.as_box()->on : one.as_box()->on;
    std::optional<box> first = as_box_of(on, one);
    const std::optional<box> second = as_box_of(on, later);
    if (!first || !second) return std::nullopt;
    std::size_t differing = 0;
    std::size_t along = 0;
    for (std::size_t axis = 0; axis < on.axes; ++axis) {
        if (first->begin[axis] == second->begin[axis] && first->end[axis] == second->end[axis]) continue;
        ++differing;
        along = axis;
    }
    if (differing != 1 || first->end[along] != second->begin[along]) return std::nullopt;
    first->end[along] = second->end[along];
    return region(*first);
}

}  // namespace unibuf
