// tracking/compared.hpp: memory whose writes are found by comparing it with an image of it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/byte_ranges.hpp"

namespace unibuf::tracking {

/// A piece of the host's memory, with an image of what it held when it was looked at last. Offsets are those of the
/// memory that it is a piece of. Not thread-safe, but for the writers of the memory.
///
/// A write is found by its line, but bytes that are `told_apart` by themselves: there others may have newer content, or
/// write, and what was written beside them is nothing to them.
///
/// Other threads may be writing what is read here. An image is what one reading gave: a store that comes later makes
/// the memory another one, and the next look finds it.
class compared_piece {
public:
    /// A write is found by its line, counted from where the piece begins.
    static constexpr std::size_t line = 64;

    compared_piece(std::span<const std::byte> memory, byte_range at);

    /// Returns the bytes of a range that are told apart; where it is empty, none are.
    using bytes_apart = std::function<byte_ranges(byte_range)>;

    byte_range at() const noexcept { return at_; }

    // A range is one that shares bytes with the piece, and is rounded outwards to lines.

    /// Takes the image of `range`. What was written there is found no more. Throws std::bad_alloc, and has changed
    /// nothing then, where somebody has the image.
    void take(byte_range range);

    bool is_as_it_was(byte_range range) const noexcept;

    /// Adds what is not as it was of the lines of `range`, and takes their image. `apart` is asked where something is
    /// not.
    void scan(byte_range range, const bytes_apart& apart, std::vector<byte_range>& written);

    /// Takes the image of just these bytes, which unibuf has written.
    void take_bytes(byte_range bytes);

    /// Returns how many scans, one after the other, have found nothing.
    unsigned quiet() const noexcept { return quiet_; }

    /// Returns the image of `range`, which lies in the piece. It stays as it is for as long as somebody has it.
    std::shared_ptr<const std::byte> image(byte_range range) const noexcept {
        return {image_, image_.get() + (range.begin - at_.begin)};
    }

    /// Copies the image of `range`, of which the piece may have only a part, to its place: `to` is that of the range's
    /// first byte.
    void copy_image(byte_range range, std::byte* to) const noexcept;

private:
    byte_range lines_of(byte_range range) const noexcept;
    void make_own();
    void take_apart(byte_range bytes, const byte_ranges& told_apart, std::vector<byte_range>& written);

    std::span<const std::byte> memory_;  // of the piece
    byte_range at_;
    std::shared_ptr<std::byte[]> image_;  // others have it while a device takes it
    unsigned quiet_ = 0;
};

}  // namespace unibuf::tracking
