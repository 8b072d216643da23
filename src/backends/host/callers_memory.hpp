// backends/host/callers_memory.hpp: memory that a program has, as the host's copy of a buffer.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "backends/host/addressed_memory.hpp"
#include "backends/host/sizes.hpp"
#include "system/pages.hpp"

namespace unibuf::backends {

class callers_memory final : public addressed_memory {
public:
    /// `is_private` says that no other process writes its pages.
    callers_memory(std::span<std::byte> of, std::shared_ptr<void> keep, bool is_private)
        : addressed_memory(of.data()), bytes_(of.size()), keep_(std::move(keep)), is_private_(is_private) {}

    bool whole_pages() const noexcept override { return is_multiple_of(system::page_size()); }
    bool own_pages_inside() const override { return is_private_; }
    bool is_programs() const noexcept override { return true; }
    bool has_whole_lines() const noexcept override { return is_multiple_of(cache_line); }

private:
    bool is_multiple_of(std::size_t unit) const noexcept { return (handle() | bytes_) % unit == 0; }

    std::size_t bytes_;
    std::shared_ptr<void> keep_;
    bool is_private_;
};

}  // namespace unibuf::backends
