// tests/doubles/cuda/control.hpp: what a test asks of the double itself, beside the driver's own functions.
//
// Any thread, but one test at a time: failures, limits and counts are of the whole process.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cuda/api.hpp"

namespace cuda_double {

/// What a kernel does with memory, so that the double sees whether it is in order.
struct touched {
    unibuf::backends::cuda::device_pointer address;
    std::size_t bytes;
    bool writes;
};

// The double of CuPy reads the first of these members: new ones come last.
struct control {
    /// Forgets failures to come, limits, attributes and counts, and is as hostile as the environment says.
    void (*reset)();

    /// Lets the calls of `function` (null: of any but push, pop and exchange) after the next `after` ones answer
    /// `status`, `times` times. They do nothing else then.
    void (*fail)(const char* function, std::uint64_t after, std::uint64_t times, int status);

    /// From now on nothing works on the device, as after a kernel that crashed: all calls answer `status`.
    void (*lose)(int device, int status);

    void (*limit_device_memory)(std::size_t bytes);
    void (*limit_pinned_memory)(std::size_t bytes);

    /// Since the last reset; null: of all functions.
    std::uint64_t (*calls)(const char* function);
    std::uint64_t (*bytes)(const char* function);

    /// Allocations of device memory and of pinned memory that nobody has freed.
    std::size_t (*allocations)();

    /// Returns where the host finds what a device address stands for.
    std::byte* (*address)(unibuf::backends::cuda::device_pointer);

    /// A kernel: calls run(data) in the order of the stream, and checks that what it touches is in order.
    int (*launch)(unibuf::backends::cuda::stream_handle on, void (*run)(void*), void* data, const touched* what,
                  std::size_t count);

    /// Lets the attribute `which` of all devices be `value`.
    void (*set_attribute)(int which, int value);

    /// From now on the double does, wherever the documents allow it, what hurts most: it faults memory that is
    /// registered in for writing, and refuses what may not be written, and files; carries out the parts of a batch in
    /// any order; reads pageable sources, and completes pageable reads, when the stream comes to them; gives freed
    /// memory out again no sooner than the stream has come to its end, and lets an allocation wait for that, unless the
    /// pool was told otherwise; allocates host memory that a fork shares; writes to
    /// registered memory by its pages, of which the page tables tell nothing; and waits for all work wherever host
    /// memory is allocated, registered or given back. A reset goes back to what the environment says.
    void (*set_hostile)(bool);

    /// From now on streams of the usual priority share so many queues of the hardware: what is held back in one holds
    /// back what was put into the others later. 0: each stream has a queue of its own.
    void (*share_queues)(std::size_t count);

    /// From now on the stream is one of a green context.
    void (*make_green)(unibuf::backends::cuda::stream_handle);

    /// The next stream that is created gets the handle of this one, which was destroyed; its work may be under way.
    void (*give_again)(unibuf::backends::cuda::stream_handle);

    /// The calls that `fail` has let fail since the last reset.
    std::uint64_t (*hits)();
};

/// The one name that the library exports for tests.
inline constexpr const char* control_name = "unibuf_cuda_double_control";
using get_control = const control*();

}  // namespace cuda_double
