// tracking/compared.cpp: memory whose writes are found by comparing it with an image of it.
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

/// Takes the image of a line, or of the part of one that ends the piece. Returns whether it was another one.
bool take_line(const std::byte* memory, std::byte* image, std::size_t bytes) noexcept {
    const auto take = [&](auto count) {
        std::array<std::byte, compared_piece::line> now;
        std::memcpy(now.data(), memory, count);
        is_read_once(now.data());
        if (std::memcmp(now.data(), image, count) == 0) return false;
        std::memcpy(image, now.data(), count);
        return true;
    };
    // The compiler needs no call where it knows the count.
    constexpr std::size_t whole = compared_piece::line;
    return bytes == whole ? take(std::integral_constant<std::size_t, whole>()) : take(bytes);
}

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

/// Takes the image of a line of which some bytes are told apart, and adds what was written.
void compared_piece::take_apart(byte_range bytes, const byte_ranges& told_apart, std::vector<byte_range>& written) {
    std::array<std::byte, line> now;
    std::memcpy(now.data(), memory_.data() + bytes.begin, bytes.size());
    is_read_once(now.data());
    std::byte* const image = image_.get() + bytes.begin;
    const byte_range all{at_.begin + bytes.begin, at_.begin + bytes.end};
    byte_ranges found;
    bool any_together = false;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (now[i] == image[i]) continue;
        const byte_range one{all.begin + i, all.begin + i + 1};
        if (told_apart.bytes_in(one) != 0) {
            found.add(one);
        } else {
            any_together = true;
        }
    }
    if (any_together) {
        byte_ranges together = all;
        together.take_out(told_apart);
        found.add(together);
    }
    make_room(written, found.count() + at_.size() / line + 1);  // for the lines that come, too
    written.insert(written.end(), found.begin(), found.end());
    std::memcpy(image, now.data(), bytes.size());
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

void compared_piece::take_bytes(byte_range bytes) {
    make_own();
    bytes = bytes.clipped_to(at_);
    std::memcpy(image_.get() + (bytes.begin - at_.begin), memory_.data() + (bytes.begin - at_.begin), bytes.size());
}

bool compared_piece::is_as_it_was(byte_range range) const noexcept {
    const byte_range lines = lines_of(range);
    return std::memcmp(memory_.data() + lines.begin, image_.get() + lines.begin, lines.size()) == 0;
}

/// Looks at the lines of such blocks alone as are not as they were: to compare more at once takes less for each byte.
void compared_piece::scan(byte_range range, const bytes_apart& apart, std::vector<byte_range>& written) {
    constexpr std::size_t block = 8 * line;
    const byte_range lines = lines_of(range);
    make_room(written, lines.size() / line + 1);
    ++quiet_;
    for (std::size_t begin = lines.begin; begin < lines.end; begin += block) {
        const std::size_t end = std::min(begin + block, lines.end);
        if (std::memcmp(memory_.data() + begin, image_.get() + begin, end - begin) == 0) continue;
        quiet_ = 0;
        const byte_ranges told_apart = apart ? apart({at_.begin + begin, at_.begin + end}) : byte_ranges();
        make_own();
        for (std::size_t at = begin; at < end; at += line) {
            const byte_range bytes{at, std::min(at + line, end)};
            const byte_range in_memory{at_.begin + bytes.begin, at_.begin + bytes.end};
            if (!told_apart.empty() && told_apart.bytes_in(in_memory) != 0) {
                take_apart(bytes, told_apart, written);
            } else if (take_line(memory_.data() + at, image_.get() + at, bytes.size())) {
                append(written, in_memory);
            }
        }
    }
}

void compared_piece::copy_image(byte_range range, std::byte* to) const noexcept {
    const byte_range own = range.clipped_to(at_);
    if (own.empty()) return;
    std::memcpy(to + (own.begin - range.begin), image_.get() + (own.begin - at_.begin), own.size());
}

}  // namespace unibuf::tracking
