// doubles/metal/control.hpp: what a test asks of the double itself, beside Metal's own methods.
//
// Any thread, but one test at a time: failures, limits and counts are of the whole process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace metal_double {

struct control {
    /// Forgets failures to come, limits and counts.
    void (*reset)();

    /// Lets the calls that may fail, which make buffers, command buffers, encoders, events, queues, libraries and
    /// pipelines, return null: `times` of them after the next `after`.
    void (*fail_calls)(std::uint64_t after, std::uint64_t times);

    /// Lets command buffers that are committed end with an MTLCommandBufferError of this code, and do nothing, not
    /// even signal: `times` of them after the next `after`.
    void (*fail_work)(std::uint64_t after, std::uint64_t times, long code);

    /// Lets buffers of the program's pages come without any memory, as on some virtual machines.
    void (*spoil_pages)(bool);

    /// Returns how many calls that may fail there were since the last reset.
    std::uint64_t (*calls)();

    /// Limits what buffers of the device's own may take together.
    void (*limit_memory)(std::size_t bytes);

    /// Returns how many objects of a class there are, "MTLBuffer" for instance; null: of all classes.
    std::size_t (*objects)(const char* name);
};

/// The one name that the library exports for tests.
inline constexpr const char* control_name = "unibuf_metal_double_control";
using get_control = const control*();

}  // namespace metal_double
