// bench/cuda.hpp: the CUDA driver's own calls, as a program without the library makes them.
#pragma once

#include <unibuf/cuda.hpp>
#include <unibuf/space.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace bench::cuda {

inline constexpr std::size_t kib = std::size_t{1} << 10;
inline constexpr std::size_t mib = std::size_t{1} << 20;
inline constexpr std::size_t gib = std::size_t{1} << 30;

/// Returns cuda:0, for buffers of `bytes` on both sides. Throws error(device_unavailable) where it is not there, or
/// where they would take more than a quarter of what is free: cards are shared.
unibuf::space device_for(std::size_t bytes);

/// Rows at the host, one behind the other by a pitch, and on the device by another.
struct rows {
    std::uintptr_t device = 0;
    std::size_t device_pitch = 0;
    std::byte* host = nullptr;
    std::size_t host_pitch = 0;
    std::size_t bytes = 0;  // of each
    std::size_t count = 0;
};

/// A stream of the primary context of cuda:0, which is current on this thread meanwhile. All functions throw
/// std::runtime_error where the driver fails.
class stream {
public:
    stream();
    ~stream();
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;

    unibuf::queue as_queue() const noexcept { return unibuf::cuda::queue_of(native_); }

    // These only queue.
    void to_device(std::uintptr_t to, std::span<const std::byte> from) const;
    void to_host(std::span<std::byte> to, std::uintptr_t from) const;
    void to_device(const rows& all) const;
    void to_host(const rows& all) const;
    void set(std::uintptr_t to, std::size_t bytes) const;

    void wait() const;

private:
    CUstream_st* native_ = nullptr;
};

}  // namespace bench::cuda
