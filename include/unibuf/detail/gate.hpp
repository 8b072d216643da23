// unibuf/detail/gate.hpp: what an access looks at first, so that one of a current copy costs no lock and no call.
//
// What always holds:
//  1. What a bit of `ready`, or `device_ready`, says while it is set is true of the whole buffer. Where it is not set,
//     an access takes the lock and finds out.
//  2. All members but `solo` are set only under the lock, when it is let go of for good; with the lock they are shut.
//  3. A lease that is taken at the gate sets `solo` from 0, and looks at `ready` again after: the lock sets by_lock in
//     `solo` before it shuts `ready`, so one of the two sees the other.
//  4. An access that takes no lease looks at `solo` first, then at `ready`; where by_lock is set, it passes nothing.
//  5. `host_address` and `device_handle` are set before the bit that says that they are good.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unibuf/export.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// The number of the calling thread, never used twice; 0 until the thread is given one.
inline thread_local constinit std::uint32_t thread_number UNIBUF_API = 0;
UNIBUF_API std::uint32_t number_thread() noexcept;
inline std::uint32_t this_thread() noexcept { return thread_number ? thread_number : number_thread(); }

/// The number of the default device; `no_space` until it has been looked up, and in a forked process where it is the
/// parent's.
inline constexpr std::uint8_t no_space = 0xFF;
inline std::atomic<std::uint8_t> default_space UNIBUF_API = no_space;

struct gate;

/// Ends the lease `ticket` under the buffer's lock.
UNIBUF_API void end_by_lock(gate& of, std::uint64_t ticket) noexcept;

struct gate {
    // Each bit of `ready` says one thing of the whole buffer.
    static constexpr std::uint32_t host_readable = 1;   // a host read lease changes nothing
    static constexpr std::uint32_t host_writable = 2;   // a host write lease changes nothing
    static constexpr std::uint32_t host_exposed = 4;    // host pointers are out already, and the host's copy is current
    static constexpr std::uint32_t host_shown = 8;      // pointers for reading are out, and the host's copy is current
    static constexpr std::uint32_t host_current = 16;   // raw access at the host changes nothing
    static constexpr std::uint32_t device_newest = 32;  // marking the device of device_shift dirty changes nothing
    static constexpr std::uint32_t device_shift = 8;    // above it: the default device, if raw access changes nothing

    // A host lease needs the bits that its access is.
    static_assert(host_readable == static_cast<std::uint32_t>(access::read));
    static_assert(host_writable == static_cast<std::uint32_t>(access::write));
    static_assert((host_readable | host_writable) == static_cast<std::uint32_t>(access::read_write));

    // `solo` is the one lease that is held without the lock: of all bytes, at the host. Its bits: thread | access |
    // by_lock.
    static constexpr std::uint64_t by_lock = 1;  // in `solo`: leases take the lock now; in a ticket: this lease did
    static constexpr std::uint64_t solo_of(std::uint32_t thread, access what) noexcept {
        return std::uint64_t{thread} << 32 | std::uint64_t{static_cast<std::uint8_t>(what)} << 1;
    }
    static constexpr std::uint32_t thread_of(std::uint64_t word) noexcept {
        return static_cast<std::uint32_t>(word >> 32);
    }
    static constexpr access access_of(std::uint64_t word) noexcept { return static_cast<access>(word >> 1 & 3); }

    /// Takes the lease without the lock, and returns its ticket; 0 where it needs the lock.
    UNIBUF_INLINED std::uint64_t take_solo(access what) noexcept {
        const auto need = static_cast<std::uint32_t>(what);
        if ((ready.load(std::memory_order_acquire) & need) != need) return 0;
        const std::uint64_t mine = solo_of(this_thread(), what);
        std::uint64_t none = 0;
        if (!solo.compare_exchange_strong(none, mine, std::memory_order_acq_rel)) return 0;
        if ((ready.load(std::memory_order_acquire) & need) == need) return mine;
        end_solo(mine);  // something changed between the first look and the taking
        return 0;
    }

    /// Ends the lease, unless somebody has the lock or had it since: returns whether it has ended.
    bool end_solo_at_once(std::uint64_t mine) noexcept {
        return solo.compare_exchange_strong(mine, 0, std::memory_order_release, std::memory_order_relaxed);
    }

    void end_solo(std::uint64_t mine) noexcept {
        if (!end_solo_at_once(mine)) end_by_lock(*this, mine);
    }

    std::byte* host_if(std::uint32_t need) const noexcept {
        const bool free = solo.load(std::memory_order_acquire) == 0;
        return free && (ready.load(std::memory_order_acquire) & need) ? host_address.load(std::memory_order_acquire)
                                                                      : nullptr;
    }

    bool is_current_at(std::uint8_t where) const noexcept {
        if (solo.load(std::memory_order_acquire) != 0) return false;
        const std::uint32_t seen = ready.load(std::memory_order_acquire);
        if (where == 0) return (seen & host_current) != 0;
        return seen >> device_shift == where && where == default_space.load(std::memory_order_relaxed);
    }

    bool is_newest_at(std::uint8_t where) const noexcept {
        if (solo.load(std::memory_order_acquire) != 0) return false;
        const std::uint32_t seen = ready.load(std::memory_order_acquire);
        if (where == 0) return (seen & host_writable) != 0;
        return (seen & device_newest) != 0 && seen >> device_shift == where;
    }

    /// Returns whether the device that is the default now has all bytes, with nothing to wait for.
    bool device_if(std::uint8_t& where, std::uintptr_t& handle) const noexcept {
        const std::uint32_t seen = device_ready.load(std::memory_order_acquire);
        where = static_cast<std::uint8_t>(seen);
        handle = device_handle.load(std::memory_order_acquire);
        return where != no_space && where == default_space.load(std::memory_order_relaxed) &&
               seen == device_ready.load(std::memory_order_relaxed) && solo.load(std::memory_order_acquire) == 0;
    }

    constexpr explicit gate(std::size_t size) noexcept : bytes(size) {}

    std::size_t bytes;  // changes only while nobody has a handle but the pool that the buffer lies in
    std::atomic<std::uint64_t> solo = 0;
    std::atomic<std::uint32_t> ready = 0;
    std::atomic<std::uint32_t> device_ready =
        no_space;  // low byte: a space; above it: a number that tells apart each time it was set
    std::atomic<std::byte*> host_address = nullptr;
    std::atomic<std::uintptr_t> device_handle = 0;
};

/// A handle that was moved from has this in the place of its buffer's gate. It lets nobody pass, so that accesses,
/// which have to be as fast as they are, need not ask whether there is a buffer. It is one object for the whole
/// process, whatever other shared libraries hide: it is known by its address.
UNIBUF_API extern gate no_buffer;

}  // namespace unibuf::detail
