// backends/host/addressed_memory.hpp: memory that the host addresses, and copies by itself.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backends/backend.hpp"

namespace unibuf::backends {

/// The operations of such memory. A derived class knows whose memory it is.
class addressed_memory : public memory {
public:
    explicit addressed_memory(std::byte* address) noexcept : address_(address) {}

    std::byte* host_address() const noexcept override { return address_; }
    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(address_); }
    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    void write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) override;
    void read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) override;
    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override;
    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;

private:
    std::byte* address_;
};

}  // namespace unibuf::backends
