// buffer/leases.hpp: how leases are granted and ended under the lock.
#pragma once

#include <optional>

#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Grants a lease. The bytes that it writes are newest at its space from the grant on; where `begins_later` was asked
/// for, from written_later::begin() on.
byte_lease take_lease(core& of, const request& asked);

/// What a lease that begins later needs to begin: nothing can fail any more once its bytes have changed. The lease is
/// held as long as this lives.
class written_later {
public:
    /// Throws std::bad_alloc.
    written_later(core& of, const request& leased);
    ~written_later();
    written_later(const written_later&) = delete;
    written_later& operator=(const written_later&) = delete;

    /// Notes that the bytes are about to change: where others have the content, nobody relies on these.
    void leave() noexcept;

    /// Notes that the space of the lease has the newest content from now on.
    void begin() noexcept;

private:
    core& of_;
    const request& leased_;
    std::optional<promise> promise_;
};

/// Ends the lease `ticket` with work that goes on until `done`. Throws std::bad_alloc, and the lease is held then.
void end_lease_with(core& of, std::uint64_t ticket, fence done);

/// Makes room for the queued work of one more lease at `where`, and of all leases that are held, so that their ends
/// need no memory.
void reserve_queued_work(lock& through, space where);

/// Notes all that the device was given to do until now as queued work on `range` of its copy. That work is not lost:
/// where the device cannot record it now, whoever needs the bytes next asks the device again.
/// Returns whether there was any that was not noted already.
bool queue_work_of(lock& through, space where, const region& part, bool writes, const named_queue& on) noexcept;

}  // namespace unibuf::detail
