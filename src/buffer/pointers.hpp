// buffer/pointers.hpp: undeclared holds: pointers, handles and views, which are used at any time without a word.
#pragma once

#include <cstddef>

#include "buffer/lock.hpp"

namespace unibuf::detail {

// Of the host's copy, to write; through `pointer`, where the host only reads, to read.
std::byte* host_pointer(core& of, byte_range range);
const std::byte* host_pointer_to_read(core& of, byte_range range);
void end_host_pointers(core& of, byte_range range);
host_bytes begin_host_view(core& of, byte_range range);
void end_host_view(core& of, byte_range range, view_tag tag) noexcept;

// Of the default device's copy.
native_memory device_handle(core& of, byte_range range);
void end_device_handles(core& of);

// Of any copy: made current, or as it is.
copy_view begin_copy_view(core& of, space where, byte_range range);
copy_view hold_copy(core& of, space where, byte_range range);
void end_copy_view(core& of, space where, byte_range range, view_tag tag) noexcept;

/// `memory` becomes the host's copy of a buffer that nobody knows yet, with the content that it has.
void adopt(core& of, std::unique_ptr<backends::memory> memory);

/// Throws error(access_conflict) where pointers or views through which the host writes are out.
void check_no_pointers(lock& through, byte_range range, const char* verb);

}  // namespace unibuf::detail
