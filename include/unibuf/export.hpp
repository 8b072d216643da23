// unibuf/export.hpp: marks what the shared library exports.
#pragma once

#if __cplusplus < 202002L
#error "unibuf needs C++20: compile with -std=c++20"
#endif

#define UNIBUF_API __attribute__((visibility("default")))

/// Marks what is compiled into its caller also without optimization: the place that a trace names is then a line of the
/// program, and none of this library's headers.
#define UNIBUF_INLINED __attribute__((always_inline))
