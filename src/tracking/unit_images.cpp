// tracking/unit_images.cpp
#include "tracking/unit_images.hpp"

#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace unibuf::detail {

/// Returns the first image that ends behind the beginning of `range`.
unit_images::images::iterator unit_images::first_in(byte_range range) noexcept {
    auto result = images_.upper_bound(range.begin);
    if (result != images_.begin() && range.begin < unit_of(*std::prev(result)).end) --result;
    return result;
}

unit_images::images::const_iterator unit_images::first_in(byte_range range) const noexcept {
    return const_cast<unit_images*>(this)->first_in(range);
}

std::vector<byte_range> unit_images::inside(byte_range range) const {
    std::vector<byte_range> result;
    for (auto each = first_in(range); each != images_.end() && each->first < range.end; ++each) {
        if (range.contains(unit_of(*each))) result.push_back(unit_of(*each));
    }
    return result;
}

void unit_images::copy(byte_range inner, byte_range unit, image& to) const noexcept {
    std::memcpy(to.bytes.data() + (inner.begin - unit.begin), memory_.data() + inner.begin, inner.size());
}

void unit_images::take(byte_range unit, byte_range inner) {
    const auto found = images_.find(unit.begin);
    if (found != images_.end()) return copy(inner, unit, found->second);
    image made;
    made.bytes.resize(unit.size());
    copy(unit, unit, made);
    images_.emplace(unit.begin, std::move(made));
}

void unit_images::take_written(byte_range range) noexcept {
    for (auto each = first_in(range); each != images_.end() && each->first < range.end; ++each) {
        const byte_range unit = unit_of(*each);
        copy(range.clipped_to(unit), unit, each->second);
    }
}

void unit_images::expect_no_more(byte_range range) noexcept {
    for (auto each = first_in(range); each != images_.end() && each->first < range.end; ++each) {
        try {
            each->second.expected.take_out(range);
        } catch (const std::bad_alloc&) {  // the image stays longer
        }
    }
}

void unit_images::note_found(const byte_ranges& units) noexcept {
    if (empty()) return;
    for (const byte_range& each : units) {
        for (auto at = first_in(each); at != images_.end() && at->first < each.end; ++at) {
            at->second.was_found = at->second.writers != 0;
        }
    }
}

unit_images::after unit_images::end_writing(byte_range unit) noexcept {
    image& of = images_.find(unit.begin)->second;
    if (--of.writers != 0) return after::other_writes;
    return std::exchange(of.was_found, false) ? after::look : after::image;
}

void unit_images::add_differing(byte_range inner, byte_range unit, const image& from, byte_ranges& result) const {
    const auto now = memory_.subspan(inner.begin, inner.size());
    const auto then = std::span(from.bytes).subspan(inner.begin - unit.begin, inner.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        if (now[i] != then[i]) result.add({inner.begin + i, inner.begin + i + 1});
    }
}

byte_ranges unit_images::written(const coherence::directory& known, const byte_ranges& found) const {
    byte_ranges result;
    for (const byte_range& each : found) {
        known.for_each_run(each, [&](byte_range piece, const coherence::knowledge& k) {
            if (k.exposed() && k.at_host()) result.add(piece);
            if (k.watched() && !k.at_host()) result.add(differing(piece));
        });
    }
    return result;
}

byte_ranges unit_images::differing(byte_range range) const {
    byte_ranges result = missing(range);
    for (auto each = first_in(range); each != images_.end() && each->first < range.end; ++each) {
        const byte_range unit = unit_of(*each);
        add_differing(range.clipped_to(unit), unit, each->second, result);
    }
    return result;
}

byte_ranges unit_images::missing(byte_range range) const {
    byte_ranges result = range;
    for (auto each = first_in(range); each != images_.end() && each->first < range.end; ++each) {
        result.take_out(unit_of(*each));
    }
    return result;
}

}  // namespace unibuf::detail
