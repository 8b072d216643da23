// doubles/metal/stop.cpp
#include "doubles/metal/stop.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace metal_double {

void stop(const char* format, ...) noexcept {
    char text[1024];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::fprintf(stderr, "metal double: %s\n", text);
    std::abort();
}

}  // namespace metal_double
