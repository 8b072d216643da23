// buffer/reopening.hpp: how bytes go back to standing holds, and how holders are called; for standing.cpp.
#pragma once

#include <cstdint>
#include <functional>

#include "buffer/lock.hpp"
#include "unibuf/standing_hold.hpp"

namespace unibuf::detail {

/// The bytes of `of` that nobody holds and nobody has paused, and that its device does not have. Those of which two
/// versions are newest are nobody's until it is said which of them stands.
byte_ranges to_open(guarded& state, const standing& of, byte_range within);

/// Gives the device all that it lacks and may have. Where some bytes could not be given to it, the others are, and the
/// first failure is thrown. The hold may have ended when it returns.
void open_all(lock& through, std::uint64_t ticket);

/// A hold to read has what pointers that are out have written.
void show_pointed(lock& through, std::uint64_t ticket);

/// Calls the holder without the lock; it may end its own hold meanwhile. `pauses` is what is true of the hold then.
void call_holder(lock& through, std::uint64_t ticket, std::function<void()> standing_options::* what, bool pauses);

}  // namespace unibuf::detail
