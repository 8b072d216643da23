// buffer/pinned_memory.hpp: the host's memory, pinned for as long as it is there.
#pragma once

#include <memory>
#include <span>

#include "backends/backend.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

/// Pinned for the device at `by`; small ones are parts of larger blocks, as pinning takes long.
/// Throws error(out_of_memory), and error(unsupported) where pinning is of no use to the device.
std::unique_ptr<backends::memory> allocate_pinned(space by, const backends::request& what);

/// Gives back the blocks that nothing is left in.
void trim_pinned();

class pinned_memory : public backends::memory {
public:
    std::byte* host_address() const noexcept override { return at_; }
    bool whole_pages() const noexcept override { return true; }
    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(at_); }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;

protected:
    explicit pinned_memory(std::byte* at) noexcept : at_(at) {}

private:
    std::byte* at_;
};

}  // namespace unibuf::detail
