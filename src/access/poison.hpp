// access/poison.hpp: stale bytes that show, for devices that ask for that.
#pragma once

#include "buffer/core.hpp"

namespace unibuf::detail {

/// Overwrites the bytes of `part` that are stale, where a device of the buffer asks for that, in all copies that the
/// host can address, but for bytes that a transfer may still read. Where the host has no memory left, some stay.
void poison_stale(guarded& state, const region& part) noexcept;

/// Overwrites what is stale in the host's copy, which has just been made, where a device of the buffer asks for that. A
/// large one is left alone: its pages need not all be there.
void poison_new_host(guarded& state) noexcept;

/// Overwrites all copies of a buffer one of whose devices asks for that: nothing of them is content any more.
void poison_all(guarded& state) noexcept;

/// Makes sure, before somebody sees `part` of a copy, that its stale bytes are poison.
void poison_unseen(guarded& state, const copy& at, const region& part);

}  // namespace unibuf::detail
