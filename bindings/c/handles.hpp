// handles.hpp: the objects behind the opaque types.
#pragma once

#include <unibuf/unibuf.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <unibuf/buffer.hpp>
#include <unibuf/detail/sizes.hpp>
#include <unibuf/fence.hpp>

#include "attempt.hpp"

struct unibuf_buffer {
    unibuf::buffer bytes;
};

struct unibuf_fence {
    unibuf::fence work;
};

namespace unibuf::c {

inline buffer& bytes_of(unibuf_buffer* handle) { return given(handle, "a buffer").bytes; }
inline const buffer& bytes_of(const unibuf_buffer* handle) { return given(handle, "a buffer").bytes; }

/// Returns `size` bytes at `data`, which may be NULL where there are none.
template <class Byte, class Void>
std::span<Byte> bytes_at(Void* data, std::size_t size) {
    if (size != 0) given(static_cast<Byte*>(data), "data");
    return {static_cast<Byte*>(data), size};
}

/// Returns `count` things of the caller's from `first` on, which may be NULL where there are none. `what` names them.
template <class T>
std::span<T> list_of(T* first, std::size_t count, const char* what) {
    if (count == 0) return {};
    given(first, what);
    if (count > detail::most_bytes / sizeof(T)) refuse_count(count, what);
    return {first, count};
}

/// Returns the caller's bytes that belong to those of a buffer from `offset` on. UNIBUF_REST means as many as the
/// buffer has there.
template <class Byte, class Void>
std::span<Byte> bytes_beside(const buffer& of, Void* data, std::size_t size, std::size_t offset) {
    if (size == UNIBUF_REST) size = of.size_bytes() - std::min(offset, of.size_bytes());
    return bytes_at<Byte>(data, size);
}

/// Puts a handle of what `make` returns at `at`, for the caller to end. The place is looked at first: without one,
/// nothing is made.
template <class Handle, class Make>
void hand_out(Handle** at, const char* what, const Make& make) {
    Handle*& place = given(at, what);
    place = new Handle(make());
}

}  // namespace unibuf::c
