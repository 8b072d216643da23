// convert.hpp: converts the values of unibuf.h into those of C++.
#pragma once

#include <unibuf/unibuf.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unibuf/buffer.hpp>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>
#include <unibuf/standing_hold.hpp>

namespace unibuf::c {

// These conversions throw error(invalid_argument) for numbers that unibuf.h does not have. Those that an access to a
// current copy needs are inline, as such an access takes some nanoseconds.
space found_space(unibuf_space where);
inline space space_of(unibuf_space where) { return where == UNIBUF_HOST ? host : found_space(where); }

[[noreturn]] void refuse_access(unibuf_access what);
inline access access_of(unibuf_access what) {
    if (what < UNIBUF_READ || what > UNIBUF_READ_WRITE) refuse_access(what);
    return static_cast<access>(what);
}

access_options read_options(const unibuf_access_options& given);
[[noreturn]] void refuse_nothing(const char* begins_as);

/// Throws where no byte of those from `offset` on was asked for: options that begin as {0} say so.
inline void check_asks(const buffer& of, std::size_t offset, std::size_t size, const char* begins_as) {
    if (size == 0 && offset < of.size_bytes()) refuse_nothing(begins_as);
}

inline access_options access_options_of(const buffer& of, const unibuf_access_options* given) {
    if (!given) return {};
    check_asks(of, given->offset, given->size, "UNIBUF_ACCESS_INIT");
    return read_options(*given);
}

reopening reopening_of(unibuf_reopening given);
buffer_options options_of(const unibuf_options* given);
native_memory native_of(const unibuf_native& given);

inline unibuf_native shown(const native_memory& copy) noexcept {
    return {.where = copy.where.id(), .handle = copy.handle, .offset = copy.offset, .size = copy.bytes};
}

/// Throws what a function of the caller's has returned, unless it is UNIBUF_OK; `what` names the function.
void check_returned(unibuf_status status, const char* what);

/// Returns a timeout, which is without end for UNIBUF_FOREVER. Throws where it is negative.
std::chrono::nanoseconds timeout_of(std::int64_t nanoseconds);

}  // namespace unibuf::c
