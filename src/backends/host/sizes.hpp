// backends/host/sizes.hpp: the sizes that the host's memory comes in.
#pragma once

#include <cstddef>

namespace unibuf::backends {

inline constexpr std::size_t cache_line = 64;
inline constexpr std::size_t huge_page = std::size_t{2} << 20;

}  // namespace unibuf::backends
