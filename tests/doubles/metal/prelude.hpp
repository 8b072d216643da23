// doubles/metal/prelude.hpp: put before a kernel's source, which is C++ then: what Metal's shading language adds, as
// far as threads that run one after the other can have it. So there is no threadgroup memory, and no barrier.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "doubles/metal/kernel.hpp"

using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

struct uint2 {
    uint x, y;
};
struct uint3 {
    uint x, y, z;
};
struct alignas(16) uint4 {
    uint x, y, z, w;
};

namespace metal {
using std::clamp;
using std::max;
using std::min;
using std::sqrt;
}  // namespace metal

namespace metal_double {

template <auto Kernel>
struct compiled;

/// Buffers come first, and then the thread's position in the grid.
template <class... Parameters, void (*Kernel)(Parameters...)>
struct compiled<Kernel> {
    template <class Parameter>
    static constexpr bool is_buffer = std::is_pointer_v<Parameter> || std::is_reference_v<Parameter>;
    static constexpr std::size_t buffers = (std::size_t{is_buffer<Parameters>} + ... + 0);

    template <class Parameter>
    static constexpr bool is_written =
        is_buffer<Parameter> && !std::is_const_v<std::remove_pointer_t<std::remove_reference_t<Parameter>>>;
    static constexpr bool are_written[] = {is_written<Parameters>..., false};

    template <class Parameter>
    static Parameter argument(void* const*& buffer, const uint3& at) {
        if constexpr (std::is_pointer_v<Parameter>) {
            return static_cast<Parameter>(*buffer++);
        } else if constexpr (std::is_reference_v<Parameter>) {
            return *static_cast<std::remove_reference_t<Parameter>*>(*buffer++);
        } else if constexpr (std::is_same_v<Parameter, uint>) {
            return at.x;
        } else if constexpr (std::is_same_v<Parameter, uint2>) {
            return {at.x, at.y};
        } else {
            static_assert(std::is_same_v<Parameter, uint3>, "a kernel takes buffers, and its position");
            return at;
        }
    }

    struct call {
        call(Parameters... arguments) { Kernel(arguments...); }
    };

    static void run(void* const* all, grid_size threads) {
        uint3 at{};
        for (at.z = 0; at.z < threads.depth; ++at.z) {
            for (at.y = 0; at.y < threads.height; ++at.y) {
                for (at.x = 0; at.x < threads.width; ++at.x) {
                    void* const* next = all;
                    call{argument<Parameters>(next, at)...};  // braces: from left to right
                }
            }
        }
    }

    static constexpr compiled_kernel value = {buffers, are_written, &run};
};

}  // namespace metal_double

#define kernel static
#define device
#define constant const
#define thread
