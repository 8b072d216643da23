// bench/null/counts.hpp: what the null driver says of the calls that a program made. A program gets these functions by
// dlsym, or by ctypes: they are in libcuda.so.1 beside those of a driver.
#pragma once

#include <cstddef>
#include <cstdint>

struct unibuf_null_counts {
    std::uint64_t calls;
    std::uint64_t waits;   // of the calls, those that wait for work, or ask whether it is done
    std::uint64_t events;  // of the calls, those that record one
    std::uint64_t bytes;   // between the host and the device, or within it
};

extern "C" {

/// Counts from zero. Calls are counted from here to unibuf_null_read alone, so that counting takes no time of what is
/// timed.
void unibuf_null_reset();

/// Gives what was counted since unibuf_null_reset, and counts no more.
void unibuf_null_read(unibuf_null_counts* counts);

/// Return the names of all functions, one after the other, and how often each was called; null past the last one.
const char* unibuf_null_name(std::size_t index);
std::uint64_t unibuf_null_calls(std::size_t index);

/// Returns the names that somebody has asked for and that the driver lacks; null past the last one.
const char* unibuf_null_lacking(std::size_t index);
}
