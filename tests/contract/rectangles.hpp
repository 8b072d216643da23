// tests/contract/rectangles.hpp: rectangles to copy, and what a loop over their bytes makes of them.
#pragma once

#include <functional>
#include <ostream>
#include <random>
#include <span>
#include <vector>

#include "backends/backend.hpp"
#include "support/bytes.hpp"
#include "unibuf/space.hpp"

namespace unibuf::contract {

using backends::rectangle_copy;

/// How the rows lie at the other end.
enum class other_end { the_same, packed, any };

/// Returns a rectangle of `axes` axes, the rows among them, that begins anywhere and has odd gaps.
rectangle_copy random_rectangle(std::mt19937& source, std::size_t axes, other_end there);

/// Returns the size of memory that the rectangle fits in at that end, with some bytes more at random.
std::size_t size_for(const rectangle_copy& what, const rectangle_copy::end& of, std::mt19937& source);

/// Copies from `there` to `here`, byte by byte.
void copy_as_told(const rectangle_copy& what, std::span<std::byte> here, std::span<const std::byte> there);

/// Writes and reads rectangles of the memory of `device`, on the queues that `next_queue` names in turn, and compares
/// all bytes of both ends with what a loop makes of them.
void check_rectangles(backends::device& device, unsigned seed, const std::function<queue()>& next_queue);

/// Likewise, from memory to memory of `device`.
void check_rectangles_between(backends::device& device, unsigned seed, const std::function<queue()>& next_queue);

}  // namespace unibuf::contract

namespace unibuf::backends {

void PrintTo(const rectangle_copy& what, std::ostream* out);

}  // namespace unibuf::backends
