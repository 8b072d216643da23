// convert.hpp: the values of unibuf.h as those of C++.
#pragma once

#include <unibuf/unibuf.h>

#include <chrono>
#include <cstdint>
#include <unibuf/options.hpp>
#include <unibuf/space.hpp>

namespace unibuf::c {

// All of these throw error(invalid_argument) for numbers that the header does not have.
space space_of(unibuf_space where);
access access_of(unibuf_access what);
buffer_options options_of(const unibuf_options* given);
access_options access_options_of(const unibuf_access_options* given);
native_memory native_of(const unibuf_native& given);

unibuf_native shown(const native_memory& copy) noexcept;

/// UNIBUF_FOREVER is without end; throws where it is negative.
std::chrono::nanoseconds timeout_of(std::int64_t nanoseconds);

inline queue queue_of(unibuf_queue given) noexcept { return {given}; }

}  // namespace unibuf::c
