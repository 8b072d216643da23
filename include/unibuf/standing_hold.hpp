// unibuf/standing_hold.hpp: a device that may use a buffer whenever it likes, and tells nobody.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "unibuf/detail/gate.hpp"
#include "unibuf/export.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/options.hpp"

namespace unibuf {

/// Says when bytes that an access elsewhere has taken from a standing hold are given back to it.
enum class reopening : std::uint8_t {
    at_once,  // as soon as nobody elsewhere holds them
    told,     // when standing_hold::resume is called
};

/// The part of a buffer, in elements, that a standing hold is about, and how its device becomes quiet.
///
/// A device that queues its work is quiet when all is done that was submitted until then: to the queue `on`, or to the
/// whole device where none is named. `pause` stops what other threads do there, and `resume` lets them go on when
/// nobody elsewhere has bytes of the hold. The two are called one at a time, with no lock held, on the thread of an
/// access. They may not use bytes of the hold, and are kept until they have returned. Where `pause` throws, the access
/// throws the same.
struct standing_options {
    std::size_t offset = 0;
    std::size_t count = rest;
    std::chrono::nanoseconds timeout = forever;
    queue on = {};
    reopening opens = reopening::at_once;
    std::function<void()> pause = {};
    std::function<void()> resume = {};
};

/// The right of one device to read, or to read and write, a range at any time until the hold ends: for a buffer that is
/// bound to a shader, a raw handle that is kept, or a graph. buffer::bind makes one.
///
/// While its bytes are open, the device has the newest content, as far as anybody can know. An access elsewhere waits
/// until the device is quiet, takes just the bytes that it asks for, and gives them back when it ends, with what it has
/// written; a read costs a transfer of what it asks for, as nobody tells what the device wrote. A pointer to
/// another copy, a handle or a view of it, given out while the hold is there, takes its bytes until it is released, the
/// view ends, or resume(). What an older pointer of the host writes while its bytes are open is a conflict, where
/// writes are found: see buffer::host.
///
/// The copy stays where it is: it is neither evicted nor discarded, and no pool reuses it. Standing holds
/// that share a byte are at one space, or only read. Movable. Keeps the buffer. One hold is used by one thread at a
/// time.
class standing_hold {
public:
    /// Makes a hold that holds nothing.
    standing_hold() noexcept = default;
    standing_hold(detail::gate& of, std::uint64_t ticket, const native_memory& native) noexcept
        : gate_(&of), ticket_(ticket), native_(native) {}
    standing_hold(standing_hold&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), ticket_(other.ticket_), native_(other.native_) {}
    standing_hold& operator=(standing_hold&& other) noexcept {
        if (this == &other) return *this;
        release();
        std::construct_at(this, std::move(other));
        return *this;
    }
    ~standing_hold() { release(); }

    /// Returns what the API of the space calls the copy; it is good until the hold ends.
    const native_memory& native() const noexcept { return native_; }

    /// Gives the device all bytes that were taken from it, with the newest content. Bytes that are leased elsewhere go
    /// to it when their leases end. Throws what that fails with, or has failed with when
    /// an access ended, and what `resume` of the options throws; error(access_conflict) where the host has written
    /// bytes that were open: these stay taken then.
    UNIBUF_API void resume();

    /// Waits until the device is quiet, and takes all bytes from it until resume().
    UNIBUF_API void pause();

    /// Ends the hold now, and waits for nothing. Later accesses wait for the work that the device was given until now.
    UNIBUF_API void release() noexcept;

    explicit operator bool() const noexcept { return gate_ != nullptr; }

private:
    detail::gate* gate_ = nullptr;
    std::uint64_t ticket_ = 0;
    native_memory native_;
};

}  // namespace unibuf
