// buffer/poison.hpp: stale bytes that show, for devices that ask for that.
#pragma once

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Overwrites the bytes of `range` that are stale, wherever the host can address them and no transfer may still read
/// them, where a device of the buffer asks for that.
void poison_stale(guarded& state, byte_range range);

/// Overwrites all that such a device holds: nothing of it is content any more.
void poison_all(guarded& state);

/// Somebody is about to see `range` of a copy: what is stale of it has to be poison by now.
void show(guarded& state, const copy& at, byte_range range);

}  // namespace unibuf::detail
