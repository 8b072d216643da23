// gpu_holds.hpp: what all handles of one buffer know of shaders that use it, and of pointers to the host's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unibuf/buffer.hpp>
#include <utility>
#include <vector>

#include "gpu.hpp"

namespace unibuf::fortran {

/// A range of bytes.
struct extent {
    std::size_t offset = 0;
    std::size_t bytes = rest;
};

/// The standing holds of the device, one for each handle that it was shown, and whose turn it is with the bytes: the
/// device's, or that of the program's pointers.
///
/// The library gives bytes back to the device as soon as an access of the host has ended, and takes bytes from it when
/// it gives a pointer to them out. A Fortran program keeps its pointers: when it has read what a shader wrote, it may
/// go on to write through one of them. So while pointers are out, a read gives its bytes to the pointers anew, and the
/// bytes are the host's until the device has its next turn: with sync_to_gpu, or with the next access, as a shader may
/// have run since.
///
/// Ranges are those of the whole buffer, and have an end. Any thread may call these functions.
class gpu_holds {
public:
    gpu_holds(buffer whole, gpu where) : whole_(std::move(whole)), gpu_(where) {}

    std::size_t size() const noexcept { return whole_.size_bytes(); }

    void add(std::shared_ptr<standing_hold> shown);
    void remove(const std::shared_ptr<standing_hold>& shown) noexcept;
    bool any() const noexcept { return any_.load(std::memory_order_acquire); }

    /// These note that a pointer to the host's memory was given out, or that all pointers have ended.
    void pointer_given() noexcept { pointers_out_.store(true, std::memory_order_relaxed); }
    void pointers_ended() noexcept { pointers_out_.store(false, std::memory_order_relaxed); }
    bool pointers_out() const noexcept { return pointers_out_.load(std::memory_order_relaxed); }

    /// These note that pointers have bytes anew until the device has its turn. A shader may write bytes that were only
    /// read by a pointer: where the program's writes are not found, what the shader wrote stands, unless sync_to_gpu
    /// says otherwise.
    void turn_of_pointers() { pointers_turn_.store(true, std::memory_order_release); }
    void was_read(extent part);

    /// Forgets what pointers have read in `part`, as the program has said that the host's bytes stand.
    void forget_reads(extent part) noexcept;

    /// Gives the device all bytes again before an access, with what pointers have written. Throws what
    /// standing_hold::resume throws, and can be called again then.
    void turn_of_gpu();

    /// Gives the device all bytes again for sync_to_gpu: what pointers have written stands.
    void begin_with_pointers();

private:
    void resume_all();

    buffer whole_;
    gpu gpu_;
    std::atomic<bool> any_ = false;
    std::atomic<bool> pointers_out_ = false;
    std::atomic<bool> pointers_turn_ = false;
    std::mutex mutex_;
    std::vector<std::shared_ptr<standing_hold>> shown_;
    std::vector<extent> read_;  // ranges that were read by pointers whose writes are not found
};

}  // namespace unibuf::fortran
