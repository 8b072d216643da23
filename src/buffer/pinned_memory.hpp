// buffer/pinned_memory.hpp: the host's memory, pinned for as long as it is there.
#pragma once

#include <memory>
#include <utility>

#include "backends/backend.hpp"

namespace unibuf::detail {

class pinned_memory final : public backends::memory {
public:
    pinned_memory(std::unique_ptr<backends::memory> of, std::unique_ptr<backends::pin> by) noexcept
        : of_(std::move(of)), by_(std::move(by)) {}

    std::byte* host_address() const noexcept override { return of_->host_address(); }
    bool whole_pages() const noexcept override { return of_->whole_pages(); }
    bool starts_zero() const noexcept override { return of_->starts_zero(); }
    std::uintptr_t handle() const noexcept override { return of_->handle(); }

    fence write(std::size_t offset, std::span<const std::byte> from, queue on) override {
        return of_->write(offset, from, on);
    }
    fence read(std::size_t offset, std::span<std::byte> to, queue on) override { return of_->read(offset, to, on); }
    fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) override {
        return of_->fill(offset, bytes, pattern, on);
    }

private:
    std::unique_ptr<backends::memory> of_;
    std::unique_ptr<backends::pin> by_;  // goes first
};

}  // namespace unibuf::detail
