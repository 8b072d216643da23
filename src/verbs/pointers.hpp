// verbs/pointers.hpp: pointers, handles and views, which the program uses at any time without a word.
#pragma once

#include <cstddef>

#include "access/lock.hpp"

namespace unibuf::detail {

// These give out pointers to the host's copy, and end them. host_pointer() is for writing, or for reading where the
// host may only read the buffer.
std::byte* host_pointer(core& of, const region& part);
const std::byte* host_pointer_to_read(core& of, const region& part);
void end_host_pointers(core& of, const region& part);

// These give out and end plain handles of the default device's copy.
native_memory device_handle(core& of, const region& part);
void end_device_handles(core& of);

// These give out and end views. begin_host_view() is of the host's copy, for writing; begin_copy_view() makes a copy
// current; hold_copy() takes it as it is.
copy_view begin_io_view(core& of, const region& part, access what);
copy_view begin_host_view(core& of, const region& part);
copy_view begin_copy_view(core& of, space where, const region& part);
copy_view hold_copy(core& of, space where, const region& part);

/// Puts the upload of a range, whose newest bytes the host has, into what is being captured on `request.on`. Returns a
/// view of the copy at the device; until it ends the bytes are written at the host alone. Where the device uses the
/// host's memory, there is nothing to upload.
copy_view capture_upload(core& of, access_request request);

void end_copy_view(core& of, space where, view_tag tag) noexcept;

/// Notes that the program has its memory back, and that what it writes there is the buffer's no more. REQUIRES: another
/// space has all that is written.
void end_programs_writes(guarded& state);

/// Throws error(access_conflict) where pointers or views through which the host writes are out.
void check_no_pointers(guarded& state, const region& part, const char* verb);

}  // namespace unibuf::detail
