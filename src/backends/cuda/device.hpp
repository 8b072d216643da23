// backends/cuda/device.hpp: one CUDA device, as a space.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "backends/arena.hpp"
#include "backends/backend.hpp"
#include "backends/cuda/context.hpp"
#include "backends/cuda/staging.hpp"

namespace unibuf::backends::cuda {

class compute_device final : public device {
public:
    /// The context is retained at first use: that costs memory on the card, and listing devices should not.
    explicit compute_device(device_ordinal ordinal);

    const traits& about() const noexcept override { return about_; }
    memory_info memory_now() override;
    void trim() override;
    std::unique_ptr<memory> allocate(const allocation_request& what) override;
    std::unique_ptr<memory> allocate_visible(const allocation_request& what) override;
    std::unique_ptr<memory> alias(std::span<std::byte> host, const allocation_request& what) override;
    std::unique_ptr<memory> borrow(memory& of_another, const allocation_request& what) override;
    std::unique_ptr<pin> pin_pages(std::span<std::byte> host) override;
    void move_many(direction way, std::span<const move_of> moves, fences& done) override;
    std::uint64_t identify(queue on) override;
    fence record(queue on) override;
    void tell_of_fences(const fence_listener& told) override;
    queue own_queue() override;
    bool order(const fence& before, queue on) override;

    device_ordinal ordinal() const noexcept { return ordinal_; }
    context& in();

private:
    /// The parts that are there from the first use on.
    struct in_use {
        explicit in_use(const compute_device& of);

        cuda::context context;
        staging ring;
        arena small;
    };

    in_use& used();
    int attribute(int which) const;

    device_ordinal ordinal_;
    traits about_;
    bool reads_pageable_ = false;
    std::once_flag once_;
    std::unique_ptr<in_use> used_;
    std::atomic<bool> is_used_ = false;
};

}  // namespace unibuf::backends::cuda
