// unibuf/lease.hpp: the right to touch one range of a buffer in one space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "unibuf/detail/gate.hpp"
#include "unibuf/export.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/options.hpp"

namespace unibuf {
namespace detail {
struct work;
}

/// A lease of bytes, as lease<T> is one of elements: for bindings, and for programs that know no type.
class byte_lease {
public:
    /// Makes a lease that holds nothing.
    byte_lease() noexcept = default;
    byte_lease(detail::gate& of, std::uint64_t ticket, access what, std::byte* data, native_memory native) noexcept
        : gate_(&of), ticket_(ticket), data_(data), native_(native), what_(what) {}
    /// Makes a lease of the host's copy. The parts of `native` are set one by one: together they would be copied from
    /// the stack right after they were written there, which processors wait for.
    byte_lease(detail::gate& of, std::uint64_t ticket, access what, std::byte* data, std::size_t bytes) noexcept
        : gate_(&of),
          ticket_(ticket),
          data_(data),
          native_{unibuf::host, reinterpret_cast<std::uintptr_t>(data), 0, bytes},
          what_(what) {}
    byte_lease(byte_lease&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)),
          ticket_(other.ticket_),
          data_(other.data_),
          native_(other.native_),
          what_(other.what_) {}
    byte_lease& operator=(byte_lease&& other) noexcept {
        if (this == &other) return *this;
        end();
        std::construct_at(this, std::move(other));
        return *this;
    }
    ~byte_lease() { end(); }

    /// Ends the lease now. Ending twice does nothing.
    void end() noexcept {
        if (!gate_) return;
        if (ticket_ & detail::gate::by_lock) {
            end_by_lock(*gate_, ticket_);
        } else {
            gate_->end_solo(ticket_);
        }
        gate_ = nullptr;
    }

    /// Ends the lease where that takes no lock, and returns whether it has ended.
    bool end_at_once() noexcept {
        const bool solo = gate_ && !(ticket_ & detail::gate::by_lock);
        if (solo && gate_->end_solo_at_once(ticket_)) gate_ = nullptr;
        return !gate_;
    }

    /// Ends the lease now, as lease::release(fence) does.
    UNIBUF_API void end(fence done);

    bool held() const noexcept { return gate_ != nullptr; }
    access what() const noexcept { return what_; }

    /// Returns the bytes. Throws where the lease has ended, or the host cannot address them.
    std::byte* data() const {
        if (!gate_ || !data_) refuse();
        return data_;
    }

    /// Returns the bytes, or null where data() throws.
    std::byte* address() const noexcept { return gate_ ? data_ : nullptr; }

    /// Returns what the API of the space calls this memory. Throws where the lease has ended.
    const native_memory& native() const {
        if (!gate_) refuse();
        return native_;
    }

    std::size_t bytes() const noexcept { return native_.bytes; }
    space where() const noexcept { return native_.where; }

private:
    friend class buffer;  // its copies end leases with their own work

    void end_with(detail::work left);
    [[noreturn]] UNIBUF_API void refuse() const;

    detail::gate* gate_ = nullptr;
    std::uint64_t ticket_ = 0;
    std::byte* data_ = nullptr;
    native_memory native_;
    access what_ = access::read;
};

namespace detail {

struct acquired_by {};

}  // namespace detail

/// The right to touch a range in one space under one access, from the call that gave the lease until it is released or
/// destroyed.
///
/// While a lease is held, accesses that exclude it wait (other threads) or fail with access_conflict (the same thread).
/// Two accesses exclude each other where they share a byte, unless both only read. A lease may outlive the buffer, and
/// end on another thread than the one that took it, as whose it counts. After the end of a lease at a device, later
/// accesses wait for the work that was queued there; the end itself waits for nothing. One lease is used by one thread
/// at a time.
template <class T>
class lease {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    /// Makes a lease that holds nothing.
    lease() noexcept = default;

    /// Makes a lease of the byte_lease that `acquire()` returns.
    template <class Acquire>
    UNIBUF_INLINED lease(detail::acquired_by, Acquire acquire) : bytes_(acquire()) {}

    /// Returns the elements. Throws error(invalid_argument) where the lease has ended, error(unsupported) where the
    /// host cannot address them. Costs that check alone.
    T* data() const { return reinterpret_cast<T*>(bytes_.data()); }
    /// Returns the elements, or null where data() throws.
    T* address() const noexcept { return reinterpret_cast<T*>(bytes_.address()); }

    std::span<T> span() const { return {data(), size()}; }
    T* begin() const { return data(); }
    T* end() const { return data() + size(); }
    T& operator[](std::size_t index) const { return data()[index]; }

    std::size_t size() const noexcept { return bytes_.bytes() / sizeof(T); }
    space where() const noexcept { return bytes_.where(); }

    /// Returns what the API of the space calls this memory. Throws error(invalid_argument) where the lease has ended.
    const native_memory& native() const { return bytes_.native(); }

    /// Returns whether the lease has not ended yet.
    explicit operator bool() const noexcept { return bytes_.held(); }

    /// Ends the lease now. Ending twice does nothing.
    void release() noexcept { bytes_.end(); }

    /// Ends the lease now, with work that goes on until `done`, an event of the program's own: fence::work makes one of
    /// anything that can be waited for. Later accesses wait for `done` alone, and not for what is queued at the device.
    /// Throws error(invalid_argument) where the lease has ended or is at the host, and std::bad_alloc. The lease stays
    /// held where this throws.
    void release(fence done) { bytes_.end(std::move(done)); }

private:
    byte_lease bytes_;
};

}  // namespace unibuf
