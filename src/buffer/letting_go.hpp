// buffer/letting_go.hpp: asks holders of views to let go of what others need, never under a lock.
#pragma once

#include <cstdint>

#include "buffer/lock.hpp"

namespace unibuf::detail {

/// Names the holder of a view. It takes the place of the holder with the number `known`, which becomes its own number.
void name_holder(core& of, named_holder who, std::uint64_t& known);

/// Asks those who hold views of `range` of the copy at `where`. Lets go of the lock meanwhile.
void ask_to_let_go(lock& through, space where, byte_range range);

/// Asks those who hold views of any copy. Lets go of the lock meanwhile.
void ask_all_to_let_go(lock& through);

/// Returns whether this thread is calling a holder, and so needs something further up its stack.
bool is_asking() noexcept;

}  // namespace unibuf::detail
