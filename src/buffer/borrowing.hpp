// buffer/borrowing.hpp: two devices with one memory, of which only one may touch it at a time.
//
// For the directory they are two memories, and the one that does not have it holds nothing: what is current goes along
// when the memory changes hands. So a plan never needs to know. A program that uses both at once gets two memories
// after all: what it may do does not depend on what its devices can share.
#pragma once

#include "buffer/lock.hpp"
#include "buffer/request.hpp"

namespace unibuf::detail {

/// Where the copy at the space of the access shares its memory with that of another device: gives it to this one. True
/// where the lock was let go meanwhile. Throws error(timeout), and what a backend throws.
bool take_memory(lock& through, const request& asked);

/// Where the copy at the space of the access, which has the memory, shares it by turns: gives it the memory for good,
/// and the other device has no copy.
void stop_borrowing(lock& through, const request& asked);

/// Gives borrowed memory back to its lender, so that the borrower's copy can go.
void give_memory_back(lock& through, const request& asked, const copy& borrower);

}  // namespace unibuf::detail
