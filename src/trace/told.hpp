// trace/told.hpp: what messages of errors say of the events before.
#pragma once

#include <cstdint>
#include <string>

#include "coherence/byte_range.hpp"

namespace unibuf::trace {

// Both return nothing where there is no memory for the answer: the message comes without it.

/// Returns sentences about who wrote some of the bytes last, one for each space, oldest first: "; last: ...". Empty
/// where that is not recorded, or no more.
std::string last_writes(std::uint64_t buffer, byte_range part) noexcept;

/// Returns where this thread took a lease, "; it was taken in ...". `time` is that of the event. Empty where that is
/// not recorded, or no more: so it is of leases that the gate grants.
std::string place_of_lease(std::uint64_t buffer, std::uint64_t time) noexcept;

}  // namespace unibuf::trace
