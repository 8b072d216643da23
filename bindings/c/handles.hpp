// handles.hpp: what is behind the opaque types.
#pragma once

#include <unibuf/unibuf.h>

#include <cstddef>
#include <span>
#include <unibuf/buffer.hpp>
#include <utility>

#include "attempt.hpp"

struct unibuf_buffer {
    unibuf::buffer bytes;
};

namespace unibuf::c {

inline buffer& bytes_of(unibuf_buffer* handle) { return given(handle, "a buffer").bytes; }
inline const buffer& bytes_of(const unibuf_buffer* handle) { return given(handle, "a buffer").bytes; }

/// NULL may stand for no bytes.
template <class Byte, class Void>
std::span<Byte> bytes_at(Void* data, std::size_t size) {
    if (size != 0) given(static_cast<Byte*>(data), "data");
    return {static_cast<Byte*>(data), size};
}

/// Makes what the caller will end.
template <class Handle, class... Parts>
void hand_out(Handle** at, const char* what, Parts&&... parts) {
    Handle*& place = given(at, what);
    place = new Handle{std::forward<Parts>(parts)...};
}

}  // namespace unibuf::c
