// unibuf/export.hpp: marks what the shared library exports.
#pragma once

#if __cplusplus < 202002L
#error "unibuf needs C++20: compile with -std=c++20"
#endif

#define UNIBUF_API __attribute__((visibility("default")))
