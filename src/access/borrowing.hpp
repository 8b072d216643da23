// access/borrowing.hpp: two devices with one memory, of which only one may touch it at a time.
//
// For the directory they are two memories, and the device that does not have the memory holds nothing: what is current
// goes along when the memory changes hands. So a plan never needs to know of it. A program that uses both devices at
// once gets two memories after all, so that what it may do does not depend on what its devices can share.
#pragma once

#include "access/access_request.hpp"
#include "access/lock.hpp"

namespace unibuf::detail {

/// Gives the memory to the space of the access, where its copy shares that with the copy of another device. Returns
/// true where the lock was let go meanwhile. Throws error(timeout), and what a backend throws.
bool take_memory(lock& locked, const access_request& request);

/// Gives the memory for good to the space of the access, which has it now, and leaves the other device without a copy.
/// Does nothing where the copy shares its memory with no other device. Returns false where the memory may have gone
/// elsewhere meanwhile: it has to be taken again.
bool stop_borrowing(lock& locked, const access_request& request);

/// Gives borrowed memory back to its lender, so that the borrower's copy can go.
void give_memory_back(lock& locked, const access_request& request, const copy& borrower);

}  // namespace unibuf::detail
