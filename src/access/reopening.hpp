// access/reopening.hpp: how bytes go back to standing holds, and how their holders are called.
#pragma once

#include <cstdint>
#include <functional>

#include "access/lock.hpp"
#include "unibuf/standing_hold.hpp"

namespace unibuf::detail {

/// Returns the bytes of `of`, inside `within`, that nobody holds and nobody has paused, and that its device does not
/// have. Contested bytes are left out, until it is said which version stands. For a hold that only reads, bytes that
/// may be written through pointers that are still out are left out, but for those in `maybe_written`.
byte_ranges to_give_back(guarded& state, const standing& of, const region& within, byte_range maybe_written);

/// Gives the device all bytes that it lacks and may have. Where some bytes could not be given to it, the others are,
/// and the first failure is thrown. The hold may have ended when this returns.
void open_all(lock& locked, std::uint64_t ticket);

/// Calls the holder without the lock; it may end its own hold meanwhile. `pauses` says whether the holder was told to
/// pause, or to go on.
void call_holder(lock& locked, std::uint64_t ticket, std::function<void()> standing_options::* what, bool pauses);

}  // namespace unibuf::detail
