// backends/cuda/pinned_share.cpp
#include "backends/cuda/pinned_share.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "unibuf/cuda.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends::cuda {
namespace {

std::uint64_t half_of_the_machine() noexcept {
    return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) / 2 *
           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

constinit std::atomic<std::uint64_t> held = 0;
std::atomic<std::uint64_t> limit = half_of_the_machine();

}  // namespace

pinned_share::pinned_share(std::size_t bytes) : bytes_(bytes) {
    std::uint64_t before = held.load(std::memory_order_relaxed);
    do {
        const std::uint64_t most = limit.load(std::memory_order_relaxed);
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
            .limit = backends::cuda::limit.load(std::memory_order_relaxed)};
}

void limit_pinned_memory(std::uint64_t bytes) noexcept {
    backends::cuda::limit.store(bytes, std::memory_order_relaxed);
}

}  // namespace unibuf::cuda
