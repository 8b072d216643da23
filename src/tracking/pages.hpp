// tracking/pages.hpp: a watch by the kernel, over whole pages.
#pragma once

#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"

namespace unibuf::tracking {

class page_watch final : public watch {
public:
    /// `memory` was added to the kernel.
    explicit page_watch(std::span<std::byte> memory) noexcept : memory_(memory) {}
    ~page_watch() override;

    std::size_t unit() const noexcept override { return kernel::page(); }
    bool compares() const noexcept override { return false; }
    void arm(byte_range range) override;
    void disarm(byte_range range) override;
    void scan(byte_range range, std::vector<byte_range>& written) override;
    bool any_written(byte_range range) override;
    void touched(byte_range range, std::vector<byte_range>& found) override;
    void arm_fresh(byte_range range, std::vector<byte_range>& found) override;

private:
    std::span<std::byte> around(byte_range range) const noexcept;
    std::span<std::byte> within(byte_range range) const noexcept;
    void look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const;

    std::span<std::byte> memory_;
};

}  // namespace unibuf::tracking
