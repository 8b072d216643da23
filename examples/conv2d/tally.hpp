// conv2d/tally.hpp: counts what the copying versions hold, copy and wait for; unibuf counts the zero-copy one's itself.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace conv2d {

struct tally {
    std::uint64_t held = 0;
    std::uint64_t peak = 0;
    std::uint64_t copied = 0;
    std::uint64_t waits = 0;
};

/// Counts memory for as long as it is there, be it the host's or a device's.
class held_bytes {
public:
    held_bytes(tally& in, std::size_t bytes) noexcept : in_(in), bytes_(bytes) {
        in_.held += bytes_;
        in_.peak = std::max(in_.peak, in_.held);
    }
    ~held_bytes() { in_.held -= bytes_; }
    held_bytes(const held_bytes&) = delete;
    held_bytes& operator=(const held_bytes&) = delete;

private:
    tally& in_;
    std::size_t bytes_;
};

/// Pixels in the host's memory. They are not cleared: no version pays for what it need not do.
class pixel_array {
public:
    pixel_array(tally& in, std::size_t pixels)
        : held_(in, pixels * sizeof(float)), data_(std::make_unique_for_overwrite<float[]>(pixels)), size_(pixels) {}

    std::span<float> span() const noexcept { return {data_.get(), size_}; }
    float* data() const noexcept { return data_.get(); }

private:
    held_bytes held_;
    std::unique_ptr<float[]> data_;
    std::size_t size_;
};

inline void copy(tally& in, std::span<const float> from, std::span<float> to) {
    std::ranges::copy(from, to.begin());
    in.copied += from.size_bytes();
}

}  // namespace conv2d
