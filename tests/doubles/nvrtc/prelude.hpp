// tests/doubles/nvrtc/prelude.hpp: put before a kernel's source, which is C++ then: what CUDA C++ adds, as far as
// threads that run one after the other can have it. So there is no shared memory and no __syncthreads.
#pragma once

#include <type_traits>
#include <utility>

#include "doubles/nvrtc/kernel.hpp"

#define __global__
#define __device__
#define __forceinline__ inline

using std::size_t;
using dim3 = nvrtc_double::dimensions;

static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class Number>
constexpr Number min(Number left, Number right) {
    return right < left ? right : left;
}

template <class Number>
constexpr Number max(Number left, Number right) {
    return left < right ? right : left;
}

namespace nvrtc_double {

template <auto Kernel>
struct compiled;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct compiled<Kernel> {
    template <class Parameter>
    static constexpr parameter described = {sizeof(Parameter), std::is_pointer_v<Parameter>,
                                            !std::is_const_v<std::remove_pointer_t<Parameter>>};

    static constexpr parameter parameters[] = {described<Parameters>..., {}};

    template <std::size_t... Indices>
    static void call(void* const* arguments, std::index_sequence<Indices...>) {
        Kernel(*static_cast<Parameters*>(arguments[Indices])...);
    }

    template <class Work>
    static void for_each(dim3 size, dim3& at, Work work) {
        for (at.z = 0; at.z < size.z; ++at.z) {
            for (at.y = 0; at.y < size.y; ++at.y) {
                for (at.x = 0; at.x < size.x; ++at.x) work();
            }
        }
    }

    static void run(void* const* arguments, dim3 grid, dim3 block) {
        gridDim = grid;
        blockDim = block;
        for_each(grid, blockIdx, [&] {
            for_each(block, threadIdx, [&] { call(arguments, std::index_sequence_for<Parameters...>()); });
        });
    }

    static constexpr kernel value = {parameters, sizeof...(Parameters), &run};
};

}  // namespace nvrtc_double
