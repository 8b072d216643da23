// access/letting_go.hpp: asks holders of views to let go of what others need, never under a lock.
#pragma once

#include <cstdint>

#include "access/lock.hpp"

namespace unibuf::detail {

/// Names the holder of a view of the copy at `where`, in the place of the one that was named before.
void name_holder(core& of, space where, holder who, view_tag& tag);

/// Asks those who hold views of bytes of `part` of the copy at `where`. Lets go of the lock meanwhile.
void ask_to_let_go(lock& locked, space where, const region& part);

/// Asks those who hold views that the host may write bytes of `part` through, before an access at `where`: such an
/// access would have to look each time for what was written. Lets go of the lock meanwhile.
void ask_writers_of_host(lock& locked, space where, const region& part);

/// Does the same for a buffer that is used together with others, before any of these is kept from other threads. Costs
/// a lock where any view has ever had a holder, else nothing.
void ask_before_joining(core& of, space where, const region& part);

/// Asks those who hold views of any copy. Lets go of the lock meanwhile.
void ask_all_to_let_go(lock& locked);

/// Returns whether this thread is within a call to the holder of a view: it may not wait for what its own callers keep.
bool is_asking() noexcept;

}  // namespace unibuf::detail
