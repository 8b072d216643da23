// options.hpp: arguments as options.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <unibuf/options.hpp>

namespace unibuf::fortran {

// These throw error(invalid_argument) for what the modules do not have.
std::size_t size_of(std::int64_t bytes);

/// BUFFER_READ_ONLY and so on; MEMORY_COHERENT and so on, which is the default.
buffer_options options_of(const int* access, const int* hint, space where);

/// Without end, where it is absent.
std::chrono::nanoseconds timeout_of(const std::int64_t* nanoseconds);

}  // namespace unibuf::fortran
