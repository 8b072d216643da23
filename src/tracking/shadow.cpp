// tracking/shadow.cpp
#include "tracking/shadow.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "tracking/units.hpp"

namespace unibuf::tracking {

shadow_watch::shadow_watch(std::span<std::byte> memory)
    : memory_(memory), copy_(std::make_unique_for_overwrite<std::byte[]>(memory.size())) {}

byte_range shadow_watch::around(byte_range range) const noexcept { return in_units().around(range); }

void shadow_watch::copy_images(byte_range range, std::byte* to) const noexcept {
    std::memcpy(to, copy_.get() + range.begin, range.size());
}

void shadow_watch::arm(byte_range range) {
    range = around(range);
    std::memcpy(copy_.get() + range.begin, memory_.data() + range.begin, range.size());
}

bool shadow_watch::any_written(byte_range range) {
    range = around(range);
    return std::memcmp(copy_.get() + range.begin, memory_.data() + range.begin, range.size()) != 0;
}

void shadow_watch::scan(byte_range range, std::vector<byte_range>& written) {
    range = around(range);
    make_room(written, range.size() / line + 1);
    for (std::size_t i = range.begin; i < range.end; i += line) {
        const std::size_t bytes = std::min(line, range.end - i);
        // The line is read once, as another thread may be writing it. The compiler needs no call where it knows the
        // size.
        std::array<std::byte, line> now;
        if (bytes == line) {
            std::memcpy(now.data(), memory_.data() + i, line);
            if (std::memcmp(now.data(), copy_.get() + i, line) == 0) continue;
        } else {
            std::memcpy(now.data(), memory_.data() + i, bytes);
            if (std::memcmp(now.data(), copy_.get() + i, bytes) == 0) continue;
        }
        std::memcpy(copy_.get() + i, now.data(), bytes);
        append(written, {i, i + bytes});
    }
}

void shadow_watch::touched(byte_range range, std::vector<byte_range>& found) {
    range = around(range);
    const auto used = [](std::byte each) { return each != std::byte{0}; };
    for (std::size_t i = range.begin; i < range.end; i += line) {
        const std::size_t bytes = std::min(line, range.end - i);
        if (std::ranges::any_of(memory_.subspan(i, bytes), used)) append(found, {i, i + bytes});
    }
}

void shadow_watch::arm_fresh(byte_range range, std::vector<byte_range>& found) {
    arm(range);
    touched(range, found);
}

}  // namespace unibuf::tracking
