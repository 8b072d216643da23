// buffer/leases.hpp: how leases are granted and ended under the lock.
#pragma once

#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Grants a lease. The bytes that it writes are newest at its space from then on.
byte_lease take_lease(core& of, const request& asked);

/// Returns the lease that the hold `ticket` is, as it was asked for. `there` is the copy at its space.
inline byte_lease lease_of(core& of, const copy& there, const request& asked, std::uint64_t ticket) noexcept {
    std::byte* const address = there.address();
    const native_memory native{.where = asked.where,
                               .handle = there.handle(),
                               .offset = asked.part.begin(),
                               .bytes = asked.part.hull().size()};
    return byte_lease(of, ticket << 1 | gate::by_lock, asked.what, address ? address + asked.part.begin() : nullptr,
                      native);
}

/// Ends the lease `ticket` with work that goes on. Throws std::bad_alloc where the device does not queue work itself,
/// and the lease is held then: else room was made when it was taken.
void end_lease_with(core& of, std::uint64_t ticket, work left);

/// Makes room for the queued work of one more lease at `where`, and of all leases that are held, so that their ends
/// need no memory.
void reserve_queued_work(guarded& state, space where);

/// Notes all that the device was given to do until now, on the queue `on` or, without one, on any, as queued work that
/// reads `part` of its copy, or writes it. Where the device cannot record it now, whoever needs the bytes next asks the
/// device again. Returns whether there was any that was not noted already. REQUIRES: reserve_queued_work() was called.
bool queue_work_of(guarded& state, space where, const region& part, bool writes, const named_queue& on) noexcept;

/// Queues, as work of the buffer, what the program may have put on queues by handles of copies in shared memory: the
/// host waits for nothing else of it. Throws std::bad_alloc.
void queue_unnamed_work(guarded& state);

/// Waits for such work in memory of the host that may be used for anything once the buffer has gone.
void wait_for_unnamed_work(const guarded& state) noexcept;

}  // namespace unibuf::detail
