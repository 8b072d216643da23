// containers/room.hpp: the memory of lists that grow, and of those that have been long.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace unibuf {

/// Makes room for so many elements more, and at least doubles it, so that a list which grows is seldom moved. Throws
/// std::bad_alloc, and has changed nothing then.
template <class List>
void make_room(List& list, std::size_t more = 1) {
    if (list.capacity() - list.size() < more) list.reserve(std::max(list.size() + more, 2 * list.capacity()));
}

/// Gives the memory of an empty list back, unless it is little, and the list is used again and again.
template <class T>
void give_back(std::vector<T>& list) noexcept {
    constexpr std::size_t worth_keeping = 4096;                                                // bytes
    if (list.empty() && list.capacity() * sizeof(T) > worth_keeping) list = std::vector<T>();  // {} would keep it
}

}  // namespace unibuf
