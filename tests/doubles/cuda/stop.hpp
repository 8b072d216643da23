// tests/doubles/cuda/stop.hpp: the end of a program that uses the driver wrongly where the driver would not say so.
#pragma once

namespace cuda_double {

/// Prints "cuda double: ..." and aborts.
[[noreturn]] __attribute__((format(printf, 1, 2))) void stop(const char* format, ...) noexcept;

}  // namespace cuda_double
