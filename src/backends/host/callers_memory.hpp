// backends/host/callers_memory.hpp: memory that a program has, as the host's copy of a buffer.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "backends/host/addressed_memory.hpp"
#include "backends/host/sizes.hpp"
#include "system/mappings.hpp"
#include "system/pages.hpp"

namespace unibuf::backends {

class callers_memory final : public addressed_memory {
public:
    callers_memory(std::span<std::byte> of, std::shared_ptr<void> keep)
        : addressed_memory(of.data()), bytes_(of.size()), keep_(std::move(keep)) {}

    bool whole_pages() const noexcept override { return is_multiple_of(system::page_size()); }
    bool own_pages_inside() const override { return system::is_private({host_address(), bytes_}); }
    bool has_whole_lines() const noexcept override { return is_multiple_of(cache_line); }

private:
    bool is_multiple_of(std::size_t unit) const noexcept { return (handle() | bytes_) % unit == 0; }

    std::size_t bytes_;
    std::shared_ptr<void> keep_;
};

}  // namespace unibuf::backends
