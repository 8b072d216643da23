// backends/metal/memory.hpp: an MTLBuffer, and what can be done with it.
#pragma once

#include "backends/backend.hpp"
#include "backends/metal/kernels.hpp"
#include "backends/metal/queues.hpp"
#include "backends/metal/staging.hpp"

namespace unibuf::backends::metal {

/// What all memory of one device works with. It is made once for each device and lives as long as the process: buffers
/// may go when static objects do.
struct context {
    std::string description;
    queues work;
    metal::kernels kernels;
    metal::staging staging;
};

/// Memory that only the GPU touches, though the host could where it has no memory of its own.
class buffer_memory : public memory {
public:
    /// Takes `native`, which is a multiple of blit_word bytes long.
    buffer_memory(context& in, owned native) noexcept : in_(in), native_(std::move(native)) {}

    std::uintptr_t handle() const noexcept override { return reinterpret_cast<std::uintptr_t>(native_.get()); }
    transfer_route route_of(std::span<const std::byte>) const noexcept override { return transfer_route::staged; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    bool takes_from(const memory& other) const noexcept override;
    fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) override;
    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override;
    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override;
    fence write_rectangle_from(memory& other, const rectangle_copy& what, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;

private:
    id native() const noexcept { return native_.get(); }

    context& in_;
    owned native_;
};

/// The GPU's use of whole pages of the host, in place: nothing moves. What the host has written before a command buffer
/// is committed the GPU sees, and what the GPU has written the host sees when the command buffer is completed.
class page_memory final : public buffer_memory {
public:
    page_memory(context& in, owned native, std::span<std::byte> host) noexcept
        : buffer_memory(in, std::move(native)), host_(host) {}

    std::byte* host_address() const noexcept override { return host_.data(); }
    transfer_route route_of(std::span<const std::byte>) const noexcept override { return transfer_route::direct; }

private:
    std::span<std::byte> host_;
};

}  // namespace unibuf::backends::metal
