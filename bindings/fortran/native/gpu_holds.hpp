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

/// Returns a pointer to the host's copy, which is for reading where the content is constant: Fortran's pointers do not
/// tell the two apart.
inline std::byte* pointer_to(buffer& of) {
    if (of.options().access != host_access::constant) return of.host();
    return const_cast<std::byte*>(std::as_const(of).host());
}

/// The standing holds of the device, one for each handle that it was shown, and whose turn it is with the bytes.
///
/// In unibuf's own context every shader is told of: the module dispatches it. What an access of the host takes is the
/// host's then until sync_to_gpu, a binding or a dispatch, and nothing is fetched twice.
///
/// Elsewhere nobody tells: in a context of the program, and while the program has the device's handle. There the
/// library gives bytes back to the device as soon as an access of the host has ended. A Fortran program keeps its
/// pointers: when it has read what a shader wrote, it may go on to write through one of them. So while pointers are
/// out, a read gives its bytes to the pointers anew, and they are the host's until the next access, as a shader may
/// have run since. What sync_from_gpu has brought is the host's until sync_to_gpu, a binding or a dispatch.
///
/// Ranges are those of the whole buffer, and have an end. Any thread may call these functions.
class gpu_holds {
public:
    gpu_holds(buffer whole, gpu where);

    buffer& whole() noexcept { return whole_; }

    /// Notes that the host's memory is an array of the program's own, whose name is a pointer that never ends.
    void keep_pointers() noexcept { keeps_pointers_ = true; }
    bool keeps_pointers() const noexcept { return keeps_pointers_; }

    /// Begins a hold of a part of the buffer.
    std::shared_ptr<standing_hold> add(extent part, access what);
    void remove(const std::shared_ptr<standing_hold>& shown) noexcept;
    bool any() const noexcept { return any_.load(std::memory_order_acquire); }

    /// Notes that the program has the device's handle, and may use it at any time until it gives it back.
    void handle_given();
    void handle_given_back() noexcept;

    /// Returns whether the program has pointers to the host's memory.
    bool pointers_out() const { return whole_.placement(host).pointers_out; }

    /// These note that pointers have bytes anew until the next access. A shader may write bytes that were only read by
    /// a pointer: where the program's writes are not found, what the shader wrote stands, unless sync_to_gpu says
    /// otherwise.
    void turn_of_pointers();
    void was_read(extent part);

    /// Forgets what pointers have read in `part`, as the program has said that the host's bytes stand.
    void forget_reads(extent part) noexcept;

    /// Gives the device its turn before an access, where a shader may have run unseen. Throws what
    /// standing_hold::resume throws, and can be called again then.
    void before_access();

    /// Brings `part` to the host, for sync_from_gpu. It is the host's until begin_with_host().
    void bring(extent part);

    /// Gives the device all bytes before its work. What the host has, and what pointers have written, stands.
    void begin_with_host();

private:
    struct shown {
        std::shared_ptr<standing_hold> hold;
        extent part;
        access what;
    };

    /// Returns whether what the host has taken is its own until begin_with_host().
    bool is_hosts_until_told() const noexcept {
        return is_told_.load(std::memory_order_relaxed) || hosts_turn_.load(std::memory_order_relaxed);
    }

    standing_hold hold_of(extent part, access what);
    void give_reads_back();
    void resume_all();

    buffer whole_;
    gpu gpu_;
    bool keeps_pointers_ = false;
    const bool tells_;  // whether only the module runs shaders there, as long as nobody has the device's handle
    std::atomic<bool> is_told_;  // whether nothing uses the buffer at the device but what the module dispatches
    std::atomic<bool> any_ = false;
    std::atomic<bool> pointers_turn_ = false;
    std::atomic<bool> hosts_turn_ = false;  // since sync_from_gpu, where nobody tells of shaders
    std::mutex mutex_;
    std::vector<shown> shown_;
    std::vector<extent> read_;          // ranges that were read by pointers whose writes are not found
    std::vector<copy_view> hosts_own_;  // what is the host's in its turn
};

}  // namespace unibuf::fortran
