// backends/debug/poisoned_memory.hpp: memory that reads as poison where nobody has made it current.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/backend.hpp"

namespace unibuf::backends {

/// This memory is addressable, so that programs run on it as on a device with plain pointers, and never shared, so that
/// the host does not see what was written here until it is told.
///
/// Poison is laid by chunks, when a program is about to see them, and in the chunks beside them, where a program looks
/// that goes beyond its range. What is never used of a large buffer costs nothing.
class poisoned_memory final : public memory {
public:
    explicit poisoned_memory(const allocation_request& what);
    ~poisoned_memory() override;
    poisoned_memory(const poisoned_memory&) = delete;
    poisoned_memory& operator=(const poisoned_memory&) = delete;

    std::byte* host_address() const noexcept override { return pages_->host_address(); }
    std::uintptr_t handle() const noexcept override { return pages_->handle(); }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override;
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override;
    void write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) override;
    void read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) override;
    fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) override;
    fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on) override;
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override;
    void poison_stale(std::size_t offset, std::size_t bytes) override;
    void poison_unseen(std::size_t offset, std::size_t bytes) override;

private:
    struct chunks;

    void begin_using(part used, bool overwritten);
    void begin_using_rows(const rectangle_copy& rows, bool overwritten);

    std::unique_ptr<memory> pages_;
    chunks* unused_ = nullptr;  // lies behind the content, on pages of its own; null where there is one chunk
};

}  // namespace unibuf::backends
