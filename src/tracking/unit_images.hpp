// tracking/unit_images.hpp: what units of the host's copy held, byte by byte.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "coherence/directory.hpp"

namespace unibuf::detail {

/// Tells writes apart within units, which are what a write is found by. In a unit of which a device has newer content
/// in some bytes, or into which unibuf itself writes some, an image tells which bytes the program has written.
class unit_images {
public:
    explicit unit_images(std::span<const std::byte> memory) : memory_(memory) {}

    bool empty() const noexcept { return images_.empty(); }
    bool has(byte_range unit) const noexcept { return images_.contains(unit.begin); }
    bool being_written(byte_range unit) const { return images_.at(unit.begin).writers != 0; }

    /// Returns the units inside `range` that have an image.
    std::vector<byte_range> inside(byte_range range) const;

    /// Makes `inner` of the image of `unit` what the memory holds now. A new image takes all of the unit.
    void take(byte_range unit, byte_range inner);

    /// Notes that unibuf has written `range`: that is no write of the program.
    void take_written(byte_range range) noexcept;

    /// Begins a write of unibuf to some bytes of `unit`, which has an image.
    void begin_writing(byte_range unit) { ++images_.at(unit.begin).writers; }

    /// Notes that a look has found these units: what the program wrote there may be sent before the writes of unibuf
    /// end, so it may be sent and be gone again, and then no image tells.
    void note_found(const byte_ranges& units) noexcept;

    enum class after { other_writes, look, image };

    /// Ends a write of unibuf. Where no other of its writes goes on, what the program has written is told by what
    /// differs from the image; or, where a look has found the unit meanwhile, by the next look, as without an image.
    after end_writing(byte_range unit) noexcept;

    /// Returns the bytes of `found`, told by units, that the program has written. Where a device has newer bytes, only
    /// those count that differ from an image.
    byte_ranges written(const coherence::directory& known, const byte_ranges& found) const;

    /// Returns the bytes of `range` that differ from their image; all bytes of a unit that has none.
    byte_ranges differing(byte_range range) const;

    /// Returns the bytes of `range` whose units have no image.
    byte_ranges missing(byte_range range) const;

    /// Notes that a device is about to have newer content in `inner`. expect_no_more says that it has it by now, or
    /// never will.
    void expect(byte_range unit, byte_range inner) { images_.at(unit.begin).expected.add(inner); }
    void expect_no_more(byte_range range) noexcept;

    /// Forgets images in `range` that nobody writes, for which nothing is expected, and whose units are not `needed`.
    template <class Needed>
    void forget(byte_range range, Needed needed) {
        for (auto each = first_in(range); each != images_.end() && each->first < range.end;) {
            const byte_range unit = unit_of(*each);
            const bool keep = each->second.writers != 0 || !each->second.expected.empty() || needed(unit);
            each = keep ? std::next(each) : images_.erase(each);
        }
    }
    void forget_all() noexcept { images_.clear(); }

private:
    struct image {
        std::vector<std::byte> bytes;
        byte_ranges expected;
        unsigned writers = 0;
        bool was_found = false;  // by a look while somebody writes
    };
    using images = std::map<std::size_t, image>;  // key: where the unit begins

    static byte_range unit_of(const images::value_type& of) noexcept {
        return {of.first, of.first + of.second.bytes.size()};
    }
    void copy(byte_range inner, byte_range unit, image& to) const noexcept;
    void add_differing(byte_range inner, byte_range unit, const image& from, byte_ranges& result) const;
    images::iterator first_in(byte_range range) noexcept;
    images::const_iterator first_in(byte_range range) const noexcept;

    std::span<const std::byte> memory_;
    images images_;
};

}  // namespace unibuf::detail
