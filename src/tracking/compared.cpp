// tracking/compared.cpp
#include "tracking/compared.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "tracking/units.hpp"

namespace unibuf::tracking {
namespace {

/// Keeps the compiler from reading the memory again that `read` was copied from.
void is_read_once(std::byte* read) noexcept { asm volatile("" : : "r"(read) : "memory"); }

}  // namespace

compared_piece::compared_piece(std::span<const std::byte> memory, byte_range at)
    : memory_(memory.subspan(at.begin, at.size())),
      at_(at),
      image_(std::make_shared_for_overwrite<std::byte[]>(at.size())) {
    take(at);
}

/// Returns the lines that have a byte of `range`, from the beginning of the piece.
byte_range compared_piece::lines_of(byte_range range) const noexcept {
    range = range.clipped_to(at_);
    const std::size_t begin = (range.begin - at_.begin) / line * line;
    return {begin, std::min((range.end - at_.begin + line - 1) / line * line, at_.size())};
}

/// Takes the image of a line, or of the part of one that ends the piece. Returns whether it was another one.
bool compared_piece::take_line(byte_range bytes) noexcept {
    const auto take = [&](auto count) {
        std::byte* const image = image_.get() + bytes.begin;
        std::array<std::byte, line> now;
        std::memcpy(now.data(), memory_.data() + bytes.begin, count);
        is_read_once(now.data());
        if (std::memcmp(now.data(), image, count) == 0) return false;
        std::memcpy(image, now.data(), count);
        return true;
    };
    // The compiler needs no call where it knows the count.
    return bytes.size() == line ? take(std::integral_constant<std::size_t, line>()) : take(bytes.size());
}

/// Makes another image, where somebody has the one that is here. Whoever has one was given it, and gives it back, under
/// the lock that guards this piece, too.
void compared_piece::make_own() {
    if (image_.use_count() == 1) return;
    auto made = std::make_shared_for_overwrite<std::byte[]>(at_.size());
    std::memcpy(made.get(), image_.get(), at_.size());
    image_ = std::move(made);
}

void compared_piece::take(byte_range range) {
    make_own();
    const byte_range lines = lines_of(range);
    std::memcpy(image_.get() + lines.begin, memory_.data() + lines.begin, lines.size());
}

bool compared_piece::is_as_it_was(byte_range range) const noexcept {
    const byte_range lines = lines_of(range);
    return std::memcmp(memory_.data() + lines.begin, image_.get() + lines.begin, lines.size()) == 0;
}

/// Looks at the lines of such blocks alone as are not as they were: to compare more at once takes less for each byte.
void compared_piece::scan(byte_range range, std::vector<byte_range>& written) {
    constexpr std::size_t block = 8 * line;
    const byte_range lines = lines_of(range);
    make_room(written, lines.size() / line + 1);
    ++quiet_;
    for (std::size_t begin = lines.begin; begin < lines.end; begin += block) {
        const std::size_t end = std::min(begin + block, lines.end);
        if (std::memcmp(memory_.data() + begin, image_.get() + begin, end - begin) == 0) continue;
        quiet_ = 0;
        make_own();
        for (std::size_t at = begin; at < end; at += line) {
            const byte_range bytes{at, std::min(at + line, end)};
            if (take_line(bytes)) append(written, {at_.begin + bytes.begin, at_.begin + bytes.end});
        }
    }
}

void compared_piece::copy_image(byte_range range, std::byte* to) const noexcept {
    const byte_range own = range.clipped_to(at_);
    if (own.empty()) return;
    std::memcpy(to + (own.begin - range.begin), image_.get() + (own.begin - at_.begin), own.size());
}

}  // namespace unibuf::tracking
