// backends/room_of.hpp: memory that is kept for later goes where there is no room.
#pragma once

#include "unibuf/error.hpp"

namespace unibuf::backends {

/// Returns what `make` returns. Where there is no room, what `kept` keeps is given back, and `make` is called once
/// more. `kept` may be null.
template <class Kept, class Make>
auto with_room_of(Kept* kept, const Make& make) {
    try {
        return make();
    } catch (const error& failure) {
        if (failure.code() != error_code::out_of_memory || !kept || !kept->clear()) throw;
    }
    return make();
}

}  // namespace unibuf::backends
