// containers/give_back.hpp: memory of lists that have been long.
#pragma once

#include <cstddef>
#include <vector>

namespace unibuf {

/// Gives the memory of an empty list back, unless it is little, and the list is used again and again.
template <class T>
void give_back(std::vector<T>& list) noexcept {
    constexpr std::size_t worth_keeping = 4096;                                                // bytes
    if (list.empty() && list.capacity() * sizeof(T) > worth_keeping) list = std::vector<T>();  // {} would keep it
}

}  // namespace unibuf
