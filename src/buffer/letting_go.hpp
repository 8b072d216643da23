// buffer/letting_go.hpp: holders of views, who are asked to let go of what others need. They are never asked under a
// lock.
#pragma once

#include <cstdint>

#include "buffer/lock.hpp"

namespace unibuf::detail {

/// Names the holder of a view, in the place of the one of number `known`, which becomes that of the new one.
void name_holder(core& of, named_holder who, std::uint64_t& known);

/// Asks those who hold views of `range` of the copy at `where`; lets go of the lock meanwhile.
void ask_to_let_go(lock& through, space where, byte_range range);

/// The same of all copies.
void ask_all_to_let_go(lock& through);

/// Whether this thread is calling a holder, and so is in need of something further up.
bool is_asking() noexcept;

}  // namespace unibuf::detail
