// backends/cuda/staging.cpp
#include "backends/cuda/staging.hpp"

#include <algorithm>
#include <deque>

#include "backends/cuda/copy_threads.hpp"

namespace unibuf::backends::cuda {

staging::staging(context& in) : in_(in) {}

// The blocks stay: a device lives as long as the process, and so does its ring.
staging::~staging() = default;

bool staging::ready() {
    const std::scoped_lock lock(mutex_);
    if (threads_) return true;
    for (block& each : ring_) {
        if (each.bytes) continue;
        void* made = nullptr;
        const result status = api().cuMemHostAlloc(&made, block_bytes, host_alloc_portable);
        if (status == out_of_memory) return false;
        in_.check(status, "no pinned memory for transfers");
        each.bytes = static_cast<std::byte*>(made);
    }
    threads_ = std::make_unique<copy_threads>();
    return true;
}

void staging::write(device_pointer to, std::span<const std::byte> from, stream_handle stream) {
    const std::scoped_lock lock(mutex_);
    while (!from.empty()) {
        block& free = ring_[next_++ % blocks];
        free.in_use.wait();
        const std::size_t bytes = std::min(from.size(), block_bytes);
        threads_->copy(free.bytes, from.data(), bytes);
        in_.check(api().cuMemcpyHtoDAsync(to, free.bytes, bytes, stream), "a staged write");
        free.in_use = in_.mark(stream);
        from = from.subspan(bytes);
        to += bytes;
    }
}

void staging::read(device_pointer from, std::span<std::byte> to, stream_handle stream) {
    const std::scoped_lock lock(mutex_);
    struct arriving {
        const block* in;
        std::span<std::byte> target;
    };
    std::deque<arriving> under_way;
    const auto take_oldest = [&] {
        const auto [in, target] = under_way.front();
        in->in_use.wait();
        threads_->copy(target.data(), in->bytes, target.size());
        under_way.pop_front();
    };
    while (!to.empty()) {
        if (under_way.size() == blocks) take_oldest();
        block& free = ring_[next_++ % blocks];
        free.in_use.wait();
        const auto target = to.first(std::min(to.size(), block_bytes));
        in_.check(api().cuMemcpyDtoHAsync(free.bytes, from, target.size(), stream), "a staged read");
        free.in_use = in_.mark(stream);
        under_way.push_back({&free, target});
        to = to.subspan(target.size());
        from += target.size();
    }
    while (!under_way.empty()) take_oldest();
}

}  // namespace unibuf::backends::cuda
