// tracking/shadow.hpp: a watch by comparing contents with a copy of them, for little memory.
#pragma once

#include <memory>

#include "tracking/watch.hpp"

namespace unibuf::tracking {

class shadow_watch final : public watch {
public:
    explicit shadow_watch(std::span<std::byte> memory);

    units in_units() const noexcept override { return {.each = line, .memory = memory_.size()}; }
    bool compares() const noexcept override { return true; }
    byte_ranges compared() const override { return byte_range{0, memory_.size()}; }
    bool compares_any_of(byte_range) const noexcept override { return true; }
    void copy_images(byte_range range, std::byte* to) const noexcept override;
    void arm(byte_range range) override;
    void disarm(byte_range) override {}
    void scan(byte_range range, std::vector<byte_range>& written) override;
    bool any_written(byte_range range) override;
    void touched(byte_range range, std::vector<byte_range>& found) override;
    void arm_fresh(byte_range range, std::vector<byte_range>& found) override;

private:
    static constexpr std::size_t line = 64;

    byte_range around(byte_range range) const noexcept;

    std::span<std::byte> memory_;
    std::unique_ptr<std::byte[]> copy_;
};

}  // namespace unibuf::tracking
