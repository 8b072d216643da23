// buffer/core_access.hpp: how one access goes through the lock of a buffer, for the sources of `core`.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "buffer/core.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

/// Holds the lock, and keeps leases from being taken without it.
class core::locked {
public:
    explicit locked(core& of) : core_(of), lock_(of.mutex_) {
        of.solo.fetch_or(by_lock, std::memory_order_acq_rel);
        of.ready.store(0, std::memory_order_relaxed);
        of.device_ready.store(no_space, std::memory_order_relaxed);
    }
    ~locked() { core_.open(); }

    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

    /// Waits for a lease or a claim to end; false after the deadline.
    bool wait_for_change(std::chrono::steady_clock::time_point deadline);

    /// Lets go of the lock for a while, in which the caller's claim or lease keeps the gate shut.
    class pause {
    public:
        explicit pause(locked& of) : lock_(of.lock_) { lock_.unlock(); }
        ~pause() { lock_.lock(); }
        pause(const pause&) = delete;
        pause& operator=(const pause&) = delete;

    private:
        std::unique_lock<std::mutex>& lock_;
    };

private:
    core& core_;
    std::unique_lock<std::mutex> lock_;
};

/// The space whose backend carries out `step`.
inline coherence::space_id executor_of(const coherence::step& step) noexcept {
    return step.to == coherence::host ? step.from : step.to;
}

/// Carries out what the coherence core asks for, for one access. While it exists, its claim keeps others off the range.
class core::steps {
public:
    steps(core& of, locked& lock, const demand& asked);
    ~steps();

    steps(const steps&) = delete;
    steps& operator=(const steps&) = delete;

    /// Plans, and does all of it. Where it throws, the directory tells what was done until then.
    void run();

    /// Repeats `pattern` over the range of the access, at its space.
    void fill(std::span<const std::byte> pattern);

    /// Waits for all work on the range.
    void wait_for_all_work();

    /// Makes it the turn of the space of the access, with memory that it shares with another device. False, and why,
    /// where the memory was not to be had: all is as before.
    bool hand_over(std::string& why);

    /// Ends such turns, where it is not that of the space of the access, which has no copy then.
    void part(std::string why);

private:
    struct in_flight {
        coherence::step step;
        fence done;
        std::optional<host_writes::own_write> guard;
    };

    void claim(byte_range range);
    bool may_return_early(const std::vector<coherence::step>& planned);
    bool comes_after(const work& before) const;
    void carry_out(const std::vector<coherence::step>& planned);
    void start_together(std::span<const coherence::step> group);
    std::optional<host_writes::own_write> guard(byte_range range, coherence::space_id to);
    void started(in_flight now);
    void wait(std::uint64_t ticket);
    void wait_for_work_at(coherence::space_id where, bool transfers_only);
    void did_fail(const fence& failed);
    fence move(const coherence::step& step);
    void start_moves(std::span<const coherence::step> group);
    std::vector<byte_range> ranges_to_move(std::span<const coherence::step> group);
    bool may_carry(byte_range gap, const coherence::step& along) const;
    fence publish(const coherence::step& step);
    fence zero(const coherence::step& step);
    fence fill_range(const copy& at, byte_range range, std::span<const std::byte> pattern);
    void keep_queued(const coherence::step& step, const fence& done);
    void finish_started();
    queue queue_at(coherence::space_id executor) const noexcept;
    [[noreturn]] void tell(const error& failure) const;

    core& core_;
    locked& lock_;
    const demand& asked_;
    std::uint64_t claim_ = 0;                         // its ticket, once there is one
    bool returns_early_ = false;                      // what is started is queued, and nobody waits
    coherence::space_id executor_ = coherence::host;  // the device that does it then
    std::vector<in_flight> started_;
};

/// In units of 65 us; comes round after three days.
inline std::uint32_t ticks_at(std::chrono::steady_clock::time_point when) noexcept {
    const std::chrono::nanoseconds passed = when.time_since_epoch();
    return static_cast<std::uint32_t>(passed.count() >> 16);
}
inline std::uint32_t ticks_now() noexcept { return ticks_at(std::chrono::steady_clock::now()); }

template <class Finish>
auto core::grant(const demand& asked, Finish finish) {
    check_allowed(asked);
    locked lock(*this);
    if (resident_) used_ = ticks_now();
    take_turn(lock, asked);
    if (any_exposed_) find_host_writes(asked);
    if (any_lost_ && asked.what != access::write) check_not_lost(asked);
    if (any_exposed_ && asked.what != access::write) check_not_contested(asked);
    if (asked.what != access::read) before_device_writes(asked.where, asked.range);
    steps(*this, lock, asked).run();
    if (any_exposed_ && asked.where == host) writes()->expose_again(asked.range);
    return finish(*copies_.find(asked.where.id()));
}

}  // namespace unibuf::detail
