// bench/by_hand.hpp: sends bytes to a copy as a program without the library does.
#pragma once

#include <unibuf/opencl.hpp>
#include <unibuf/options.hpp>

#include <cstddef>
#include <cstring>
#include <span>

#include "opencl.hpp"

namespace bench {

using by_hand = void(std::span<const std::byte> from, const unibuf::native_memory& to);

inline void by_memcpy(std::span<const std::byte> from, const unibuf::native_memory& to) {
    std::memcpy(reinterpret_cast<void*>(to.handle), from.data(), from.size());  // debug:0 is addressable
}

inline void by_opencl(std::span<const std::byte> from, const unibuf::native_memory& to) {
    opencl::write(unibuf::opencl::handles_of(to.where).queue, unibuf::opencl::memory(to), from);
}

}  // namespace bench
