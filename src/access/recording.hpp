// access/recording.hpp: tells the trace what happens to a buffer.
#pragma once

#include <span>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "coherence/plan.hpp"
#include "trace/recorder.hpp"

namespace unibuf::detail {

/// Begins an event about `part`.
event event_of(event_kind kind, std::uint64_t buffer, const region& part) noexcept;

/// Records that an access was granted, which lacked so many bytes. `begun` is when it began to move or wait, if it did.
/// Returns event::time; 0 where nothing is recorded.
std::uint64_t record_access(lock& locked, const access_request& request, std::uint64_t lacked = 0,
                            std::uint64_t begun = 0) noexcept;

/// Records that an access was granted, and notes whether somebody uses what it has brought: see guarded::unasked.
std::uint64_t note_access(lock& locked, const access_request& request, std::uint64_t lacked,
                          std::uint64_t begun) noexcept;

/// Returns how many bytes the steps bring to the memory of the access.
std::uint64_t lacked_by(const guarded& state, const access_request& request,
                        std::span<const coherence::step> steps) noexcept;

/// Returns whether an access is for somebody who uses the bytes: an eviction is not, and a sync or a prefetch is where
/// a pointer, handle or view there is out.
bool is_demand(const guarded& state, const access_request& request) noexcept;

/// Records what else was done to `part` at `where`: alone, or at the moment of other events of one call.
void record(event_kind kind, const guarded& state, const region& part, space where) noexcept;
void record(event_kind kind, const guarded& state, const region& part, space where, trace::moment& of_call) noexcept;

/// Records that an access has waited since `begun` for holds of others.
void record_wait(const guarded& state, const access_request& request, std::uint64_t begun) noexcept;

/// Records that a lease has ended, where a close trace is written.
void record_end(const guarded& state, const hold& ended) noexcept;

/// Records that a copy goes.
void record_release(const guarded& state, const copy& gone, trace::moment& of_call) noexcept;

/// Records copies that were made, since `begun` where that is known. Returns when and from where.
trace::moment record_allocations(const guarded& state, const copy_list& made, std::uint64_t begun = 0) noexcept;

}  // namespace unibuf::detail
