// doubles/metal/stop.hpp: the end of a program that uses Objective-C or Metal wrongly where they would not say so.
#pragma once

namespace metal_double {

/// Prints "metal double: ..." and aborts.
[[noreturn]] __attribute__((format(printf, 1, 2))) void stop(const char* format, ...) noexcept;

}  // namespace metal_double
