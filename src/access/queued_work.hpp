// access/queued_work.hpp: work that the program has given a device, which accesses wait for when they need the bytes.
#pragma once

#include "buffer/core.hpp"

namespace unibuf::detail {

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
