// access/lock.cpp: the gate shuts with the lock, and opens after it.
#include "access/lock.hpp"

#include <algorithm>
#include <utility>

#include "access/peer_access.hpp"
#include "access/standing.hpp"
#include "backends/spaces.hpp"
#include "buffer/gate_bits.hpp"
#include "tracking/fault_watch.hpp"

#ifndef NDEBUG
#include "buffer/invariants.hpp"
#endif

namespace unibuf::detail {

namespace {

/// Counts a thread that waits, and may let go of the lock.
class waiting_thread {
public:
    explicit waiting_thread(guarded& of) noexcept : of_(of) { ++of_.waiting; }
    ~waiting_thread() { --of_.waiting; }
    waiting_thread(const waiting_thread&) = delete;
    waiting_thread& operator=(const waiting_thread&) = delete;

private:
    guarded& of_;
};

/// Returns what the gate may say now, where `device` is the default device.
gate_bits bits_now(guarded& state, std::uint8_t device) noexcept {
    if (state.directory.first().current == 0) return {};  // each bit speaks of a space that is current in all bytes
    const copy* const at_device = device == no_space ? nullptr : state.copies.find(device);
    // Beside a standing hold each pointer goes by the lock, which notes that its bytes are kept from the device.
    const bool stands = state.holds.any_standing();
    gate_bits result = bits_of({
        .known = state.directory.summarize(),
        .allowed = state.copies.options().access,
        .busy = !state.holds.work().empty(),
        .busy_at_host = state.host_memory_is_busy(),
        .host_written_for_good = !stands && state.holds.host_is_held_for_good(state.whole()),
        .host_shown = !stands && state.holds.handle_is_out(coherence::host),
        .device = at_device ? device : no_space,
        .device_waits = at_device && at_device->queues,
        .handle_is_out = !stands && at_device && state.holds.handle_is_out(device),
    });
    // The first use of what nobody had asked for goes by the lock, and is recorded.
    constexpr std::uint32_t of_host = (std::uint32_t{1} << gate::device_shift) - 1 - gate::device_newest;
    if (state.unasked == coherence::host) result.ready &= ~of_host;
    // A lease for writing at the host has its pages kept open for system calls by the lock: see let_kernel_write.
    const bool is_by_signal = tracking::fault_watch::is_used.load(std::memory_order_relaxed);
    if (state.any_exposed && is_by_signal) result.ready &= ~gate::host_writable;
    if (state.unasked == device && device != no_space) result = {.ready = result.ready & of_host};
    return result;
}

}  // namespace

lock::lock(core& of) : core_(of), mutex_(of.mutex_) {
    of.solo.fetch_or(gate::by_lock, std::memory_order_acq_rel);
    const std::uint32_t ready = of.ready.load(std::memory_order_relaxed);
    if (of.device_ready.load(std::memory_order_relaxed) == no_space) gate_at_begin_ = ready | is_found;
#ifndef NDEBUG
    if (ready != 0) {
        const auto device = static_cast<std::uint8_t>(ready >> gate::device_shift);
        check_gate(of, ready, bits_now(of.state_, device ? device : no_space));
    }
#endif
    of.ready.store(0, std::memory_order_relaxed);
    of.device_ready.store(no_space, std::memory_order_relaxed);
    gate_before_lease_ = std::exchange(of.state_.gate_before_lease, 0);
}

lock::~lock() {
    if (core_.state_.holds.any_standing()) open_again(*this);
    if (core_.state_.resident) residents::instance().note_change(core_.state_.among_residents);
    open_gate();
}

bool lock::wait_for_change(const wait_limit& limit) {
    guarded& state = core_.state_;
    std::condition_variable_any& changed = state.with_seldom_used().changed;
    const waiting_thread counted(state);
    recorded.time = 0;
    clock::time_point until = limit.next_look();
    if (backends::help_others) {
        // What this thread waits for may itself wait for this thread.
        const released unlocked(*this);
        backends::help_others();
        until = std::min(until, clock::now() + std::chrono::milliseconds(1));
    }
    if (until == clock::time_point::max()) {
        changed.wait(mutex_);
        return true;
    }
    if (changed.wait_until(mutex_, until) == std::cv_status::no_timeout) return true;
    if (limit.by) {
        const released unlocked(*this);
        limit.ask();
    }
    return !limit.has_passed();
}

bool lock::is_last() const noexcept {
    const guarded& state = core_.state_;
    return state.ownerless && !state.holds.any();
}

void lock::open_gate() noexcept {
    guarded& state = core_.state_;
#ifndef NDEBUG
    check_invariants(core_, state);
#endif
    if (state.peers()) return tell_peers(state);  // all accesses of a shared buffer take the lock
    if (trace::is_close()) return;
    if (state.waiting != 0 || !state.holds.none_by_lock() || state.ownerless) return;
    // At the end of the lease that was taken without the lock, its bytes may have to be given to a device.
    if (state.holds.any_standing() && state.holds.solo().thread != 0) return;
    if (gate_at_end_ != 0) return let_pass(gate_at_end_ & ~is_found);
    const std::uint8_t device = default_space.load(std::memory_order_relaxed);
    const gate_bits bits = bits_now(state, device);
    if (bits.ready & gate::host_current) {
        const copy& at_host = *state.copies.find(coherence::host);
        core_.host_address.store(at_host.memory->host_address(), std::memory_order_release);
    }
    if (bits.device_ready) {
        core_.device_handle.store(state.copies.find(device)->handle(), std::memory_order_release);
        core_.device_ready.store(++state.times_device_ready << 8 | device, std::memory_order_release);
    }
    let_pass(bits.ready);
}

void lock::let_pass(std::uint32_t ready) noexcept {
    core_.ready.store(ready, std::memory_order_release);
    core_.solo.fetch_and(~gate::by_lock, std::memory_order_release);
}

}  // namespace unibuf::detail
