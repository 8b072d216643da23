// turns.hpp: how the host and the GPU take turns with a buffer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <unibuf/buffer.hpp>
#include <utility>
#include <vector>

#include "gpu.hpp"

namespace unibuf::fortran {

/// A range in bytes.
struct extent {
    std::size_t offset = 0;
    std::size_t bytes = rest;
};

/// What all handles and leases of one buffer know. Ranges are those of the whole buffer, and have an end. Any thread.
///
/// Nobody tells when a shader runs. So from the moment that the device was shown the buffer (bound to a shader, or its
/// handle given out) until that is taken back, the two take turns. The device's begins after each access of the host,
/// with all that the host has: from then on the device has the newest content, as far as its shaders may write. It ends
/// before the next access of the host, after all work that was submitted until then.
class turns {
public:
    turns(buffer whole, const gpu& where) : whole_(std::move(whole)), gpu_(where) {}

    space where() const noexcept { return gpu_.where; }

    /// The device was shown the buffer by one more handle, or by one less.
    void show() noexcept { shown_.fetch_add(1, std::memory_order_release); }
    void take_back() noexcept;
    bool at_gpu() const noexcept { return shown_.load(std::memory_order_acquire) != 0; }

    /// Of the device's turn, the begin or the end; nothing where it has none. What is leased elsewhere stays there: the
    /// device's turn of it begins when the lease ends. Throws error(timeout) where others hold it at the device longer.
    void turn_of_gpu(extent part, std::chrono::nanoseconds timeout = forever);
    void whole_turn_of_gpu() { turn_of_gpu({.offset = 0, .bytes = whole_.size_bytes()}); }

    // A lease elsewhere than at the device: from when it was granted until it has ended.
    void lease_begins(extent part);
    void lease_ends(extent part) noexcept;

    // A pointer to the host's memory ends the device's turn when it is given out, for as long as it likes.
    void pointer_given() noexcept;
    void turn_of_pointers() noexcept { pointers_turn_.store(true, std::memory_order_relaxed); }
    void turn_of_pointers_ended() noexcept { pointers_turn_.store(false, std::memory_order_relaxed); }

    /// sync_to_gpu: what was written through pointers stands, also where the host has read since its last turn.
    void begin_with_pointers();

    /// After the host has written by a procedure.
    void was_written(extent part);

    /// After it has read by one. Where the program's writes are not found, the host counts as written while pointers
    /// are out, which would undo what a shader writes next: but it is not the pointers' turn, unless sync_to_gpu says
    /// so before the host's next access.
    void was_read(extent part);

    /// What the host has read of `part` is not what sync_to_gpu is about: it was written since, here or there.
    void forget_reads(extent part) noexcept;

private:
    extent next_not_leased(std::size_t begin, std::size_t end) const;

    buffer whole_;
    gpu gpu_;
    std::atomic<int> shown_ = 0;
    std::atomic<bool> pointers_out_ = false;
    std::atomic<bool> pointers_turn_ = false;
    mutable std::mutex mutex_;
    std::vector<extent> leased_;
    std::vector<extent> read_;  // and given to the device again; of writes that are not found
};

}  // namespace unibuf::fortran
