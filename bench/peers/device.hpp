// peers/device.hpp: what everybody runs at the device: two kernels that touch one element of each page.
#pragma once

#include <unibuf/opencl.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/opencl_api.hpp"
#include "opencl.hpp"
#include "works.hpp"

namespace peers {

constexpr std::size_t pages(std::size_t elements) noexcept { return elements / page; }

/// A queue, its kernels, and what they have seen. Each contender has one of its own, which one thread uses at a time.
class device {
public:
    explicit device(const unibuf::opencl::handles& on)
        : on_(on),
          look_(on, source, "look"),
          touch_(on, source, "touch"),
          seen_(on.context, small_buffers * 2 * sizeof(element)) {}

    /// Queues a kernel that reads `data`, and notes what it sees from the place `first` on.
    void look(_cl_mem* data, std::size_t elements, std::size_t first = 0) {
        look_.set(0, data);
        look_.set(1, seen_.get());
        look_.set(2, static_cast<element>(first));
        look_.enqueue(pages(elements), 1);
    }

    /// Queues a kernel that writes `value` to the first element of each page.
    void touch(_cl_mem* data, std::size_t elements, element value) {
        touch_.set(0, data);
        touch_.set(1, value);
        touch_.enqueue(pages(elements), 1);
    }

    void finish() { bench::opencl::finish(on_.queue); }

    /// Returns the sum of what was seen at the first `count` places.
    std::uint64_t seen(std::size_t count) {
        std::vector<element> places(count);
        bench::opencl::read(on_.queue, seen_.get(), std::as_writable_bytes(std::span(places)));
        std::uint64_t sum = 0;
        for (const element each : places) sum += each;
        return sum;
    }

    const unibuf::opencl::handles& on() const noexcept { return on_; }
    _cl_kernel* look() const noexcept { return look_.native(); }
    _cl_kernel* touch() const noexcept { return touch_.native(); }
    _cl_mem* places() const noexcept { return seen_.get(); }

private:
    static constexpr const char* source = R"(
kernel void look(global const uint* data, global uint* seen, uint first) {
    seen[first + get_global_id(0)] = data[get_global_id(0) * 1024];
}
kernel void touch(global uint* data, uint value) {
    data[get_global_id(0) * 1024] = value;
}
)";
    static_assert(page == 1024 && pages(large) <= small_buffers * 2);

    unibuf::opencl::handles on_;
    examples::cl::kernel_program look_;
    examples::cl::kernel_program touch_;
    bench::opencl::owned seen_;
};

}  // namespace peers
