// options.hpp: makes options of arguments.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unibuf/options.hpp>

namespace unibuf::fortran {

// These throw error(invalid_argument) for values that the modules do not have.
std::size_t size_of(std::int64_t bytes);

/// Returns the access of ACCESS_READ and so on. Throws error(invalid_argument).
access access_of(int what);

/// Makes options of BUFFER_READ_ONLY and so on, and of MEMORY_COHERENT, which is the default, and so on.
buffer_options options_of(const int* access, const int* hint, space where);

/// Returns a timeout, which is without end where the argument is absent.
std::chrono::nanoseconds timeout_of(const std::int64_t* nanoseconds);

}  // namespace unibuf::fortran
