// tracking/pages.hpp: a watch by the kernel, over whole pages. The few that are written all the time are compared.
#pragma once

#include "system/pages.hpp"
#include "tracking/hot_pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"

namespace unibuf::tracking {

class page_watch final : public watch {
public:
    enum class of { own_mapping, common_mapping };

    /// `memory` was added to the kernel: alone, until the watch ends, or with all of a mapping.
    page_watch(std::span<std::byte> memory, of kind) noexcept : memory_(memory), kind_(kind), hot_(memory) {}
    ~page_watch() override;

    units in_units() const noexcept override { return {.each = system::page_size(), .memory = memory_.size()}; }
    bool compares() const noexcept override { return false; }
    byte_ranges compared() const override { return hot_.all(); }
    bool compares_any_of(byte_range range) const noexcept override { return hot_.has_any_of(range); }
    void copy_images(byte_range range, std::byte* to) const noexcept override { hot_.copy_images(range, to); }
    void arm(byte_range range) override;
    void disarm(byte_range range) override;
    void scan(byte_range range, std::vector<byte_range>& written) override;
    bool any_written(byte_range range) override;
    void was_used() noexcept override { used_ = true; }
    void touched(byte_range range, std::vector<byte_range>& found) override;
    void arm_fresh(byte_range range, std::vector<byte_range>& found) override;

private:
    std::span<std::byte> around(byte_range range) const noexcept;
    std::span<std::byte> within(byte_range range) const noexcept;
    byte_range bytes_of(std::span<const std::byte> pages) const noexcept;
    void not_zero(byte_range range, std::vector<byte_range>& found) const;
    void look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const;

    std::span<std::byte> memory_;
    of kind_;
    hot_pages hot_;
    std::vector<byte_range> seen_;  // what a scan has found beside hot pages, and not told yet
    bool armed_ = false;            // some of the memory was armed at some time
    bool used_ = false;             // the memory was used before this watch
};

}  // namespace unibuf::tracking
