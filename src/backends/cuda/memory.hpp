// backends/cuda/memory.hpp: a range of device addresses, and what can be done with it.
#pragma once

#include <memory>
#include <vector>

#include "backends/arena.hpp"
#include "backends/backend.hpp"
#include "backends/cuda/context.hpp"
#include "backends/cuda/pinned_pages.hpp"
#include "backends/cuda/staging.hpp"

namespace unibuf::backends::cuda {

/// The operations of such memory. A derived class knows whose addresses these are.
class device_range : public memory {
public:
    std::uintptr_t handle() const noexcept override { return static_cast<std::uintptr_t>(address_); }
    void hand_out() noexcept override { is_out_ = true; }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    void write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) override;
    void read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) override;
    transfer_route route_of(std::span<const std::byte> host) const noexcept override;
    bool takes_from(const memory& other) const noexcept override;
    fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) override;
    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override;
    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override;
    fence write_rectangle_from(memory& other, const rectangle_copy& what, queue on) override;
    void capture_write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;

    /// Returns a piece for one copy of the driver.
    piece piece_at(std::size_t offset, std::span<const std::byte> host) const noexcept {
        return {allocation_, address_ + offset, const_cast<std::byte*>(host.data()), host.size()};
    }

protected:
    device_range(context& in, staging& ring, std::size_t bytes) noexcept : in_(in), ring_(ring), bytes_(bytes) {}

    context& in() const noexcept { return in_; }
    std::size_t bytes() const noexcept { return bytes_; }
    void set_address(device_pointer address, device_pointer allocation) noexcept {
        address_ = address;
        allocation_ = allocation;
    }
    void set_address(device_pointer address) noexcept { set_address(address, address); }
    device_pointer address() const noexcept { return address_; }
    bool is_out() const noexcept { return is_out_; }

private:
    std::string asked(const char* what, std::size_t offset, std::size_t bytes) const;
    std::vector<piece> pieces_of(std::span<const part> parts, std::byte* host) const;
    template <class What>  // pieces, or a plane
    fence carry(direction way, const What& what, queue on);
    fence carry_plane(direction way, const plane& of, queue on);
    fence carry_rows(direction way, const rectangle_copy& what, std::byte* host, queue on);
    bool fill_at_once(device_pointer to, std::size_t bytes, std::span<const std::byte> pattern, stream_handle stream);

    context& in_;
    staging& ring_;
    std::size_t bytes_;
    device_pointer address_ = 0;
    device_pointer allocation_ = 0;  // the driver's allocation that `address_` is a part of
    bool is_out_ = false;
};

/// Does device::move_many for memories that are all device ranges.
fence carry_many(context& in, staging& ring, direction way, std::span<const move_of> moves);

/// A block of memory of the device, from its pool.
class device_block final : public arena::block {
public:
    device_block(context& in, std::size_t bytes);
    ~device_block() override;
    device_block(const device_block&) = delete;
    device_block& operator=(const device_block&) = delete;

    std::uintptr_t address() const noexcept override { return static_cast<std::uintptr_t>(address_); }

    /// Notes that work that nobody has a fence of may use the block.
    void hand_out() noexcept { is_out_ = true; }

private:
    context& in_;
    device_pointer address_ = 0;
    bool is_out_ = false;
};

/// Memory of the device, in a block of its own or in a part of one.
class device_memory final : public device_range {
public:
    device_memory(context& in, staging& ring, arena& small, std::size_t bytes);
    ~device_memory() override;

private:
    arena& small_;
    std::unique_ptr<device_block> own_;  // null where the memory is a part of a shared block
};

}  // namespace unibuf::backends::cuda
