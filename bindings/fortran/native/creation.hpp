// creation.hpp: procedures that create something.
#pragma once

#include "handles.hpp"
#include "report.hpp"

namespace unibuf::fortran {

/// Returns a handle of what `make` returns, or one that tells why it could not be made to whoever uses it nevertheless.
template <class T, class Make>
handle create(slots<T>& in, int* stat, CFI_cdesc_t* errmsg, const Make& make) noexcept {
    handle made;
    carry_out(stat, errmsg, [&] { made = in.add(make()); });
    return made.slot ? made : in.failed(message());
}

/// Does so, and leaves it to the program to look at the handle where the machine lacks something.
template <class T, class Make>
handle try_to_create(slots<T>& in, int* stat, CFI_cdesc_t* errmsg, const Make& make) noexcept {
    handle made;
    try_out(stat, errmsg, [&] { made = in.add(make()); });
    return made.slot ? made : in.failed(message());
}

}  // namespace unibuf::fortran
