// unibuf/options.hpp: what can be asked for when a buffer is created, and at each access.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "unibuf/export.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// An access says what a lease may do with its bytes. `write` discards the old contents, so nothing is fetched.
enum class access : std::uint8_t { read = 1, write = 2, read_write = 3 };

/// A host_access says what the host does with a buffer. Leases that contradict it are refused, but where the host is
/// the device that the buffer is for: there it does what a device may do, so that programs run on machines without one.
enum class host_access : std::uint8_t {
    read_write,
    read_only,   // the device's output
    write_only,  // the device's input: host() and host_view() are for writing
    constant,    // memory of buffer::over() that nobody writes, neither the host nor a device
};

/// A memory_hint says who should have the memory.
enum class memory_hint : std::uint8_t {
    none,           // shared where the device has no memory of its own, else mirrored
    cpu_preferred,  // shared
    gpu_preferred,  // mirrored
    coherent,       // shared
    streaming,      // shared, write-combined where the platform has it
};

/// A write_tracking says whether what the program writes through pointers of host() is found.
enum class write_tracking : std::uint8_t {
    automatic,  // writes are found where they can be: page by page, or by comparing where a buffer is smaller than that
    off,        // the host is taken for written at each access elsewhere, as long as pointers are out
};

/// A placement says whether a device's copy is memory of its own, or that of the host or of another device, used in
/// place.
enum class placement : std::uint8_t { mirrored, shared };

struct buffer_options {
    host_access access = host_access::read_write;
    memory_hint hint = memory_hint::none;

    /// The device that the buffer is for. Some devices (OpenGL) share only memory that they have allocated: naming one
    /// here lets the first host access take its memory from there. Without it, the default device is meant.
    std::optional<space> device = std::nullopt;

    write_tracking tracking = write_tracking::automatic;

    /// Keeps the host's copy pinned (page-locked), so that CUDA devices reach it without a detour: transfers are
    /// faster, and go on beside the host's own work. It is pinned by the device that the buffer is for, when it is
    /// allocated, which takes about as long as writing it once. Where no device can pin, it is not, and placement(host)
    /// says why; where no more may be pinned, the access throws error(out_of_memory).
    bool pinned = false;

    /// Leaves bytes that nobody has written as they are, instead of zero.
    bool uninitialized = false;
};

/// A count of `rest` means up to the end of the buffer.
inline constexpr std::size_t rest = static_cast<std::size_t>(-1);

/// The part of a buffer that an access is about, in elements, how long it may wait, and the queue that its work is on.
/// That queue is one of the access's space, or, at the host, of the device whose bytes come; where bytes of several
/// come, the access is refused, and where none do, the queue is not looked at. A space that has no queues needs none:
/// work there is done when the call returns.
struct access_options {
    std::size_t offset = 0;
    std::size_t count = rest;
    std::chrono::nanoseconds timeout = forever;
    queue on = {};
};

namespace detail {
UNIBUF_API void check_is_address(space where);

constexpr bool host_may_write(host_access allowed) noexcept {
    return allowed == host_access::read_write || allowed == host_access::write_only;
}
}  // namespace detail

/// The name that a backend's own API has for a copy: a cl_mem, a GL buffer name, a CUdeviceptr, or a plain address.
struct native_memory {
    space where;
    std::uintptr_t handle = 0;
    std::size_t offset = 0;  // where the first byte lies that was asked for, in bytes
    std::size_t bytes = 0;

    /// Returns the first byte as a pointer, where the API's handles are addresses: at the host, at debug and CUDA
    /// devices. Throws error(unsupported) elsewhere.
    template <class T>
    T* as() const {
        if (where != host) detail::check_is_address(where);
        return reinterpret_cast<T*>(handle + offset);
    }
};

}  // namespace unibuf
