// backends/cuda/pinned_share.cpp: how much host memory is pinned, and how much may be.
#include "backends/cuda/pinned_share.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdint>

#include "backends/host/available_memory.hpp"
#include "unibuf/cuda.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends::cuda {
namespace {

constinit std::atomic<std::uint64_t> held = 0;

/// Returns the limit, which begins as half of the memory that the process may have: the kernel ends a process of a
/// cgroup that pins more than the cgroup may have.
std::atomic<std::uint64_t>& limit() {
    static std::atomic<std::uint64_t> now = available_memory().memory.total / 2;
    return now;
}

}  // namespace

pinned_share::pinned_share(std::size_t bytes) : bytes_(bytes) {
    std::uint64_t before = held.load(std::memory_order_relaxed);
    do {
        const std::uint64_t most = limit().load(std::memory_order_relaxed);
        if (before <= most && bytes <= most - before) continue;
        throw error(error_code::out_of_memory,
                    fmt::format("{} bytes of the host were to be pinned; {} are, and the limit is {}: see "
                                "unibuf::cuda::limit_pinned_memory",
                                bytes, before, most));
    } while (!held.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
}

pinned_share::~pinned_share() { held.fetch_sub(bytes_, std::memory_order_relaxed); }

}  // namespace unibuf::backends::cuda

namespace unibuf::cuda {

pinned_info pinned_memory() noexcept {
    return {.held = backends::cuda::held.load(std::memory_order_relaxed),
            .limit = backends::cuda::limit().load(std::memory_order_relaxed)};
}

void limit_pinned_memory(std::uint64_t bytes) noexcept {
    backends::cuda::limit().store(bytes, std::memory_order_relaxed);
}

}  // namespace unibuf::cuda
