// memory/usage.cpp: counts the memory that all buffers hold.
#include "memory/usage.hpp"

#include <array>

namespace unibuf {
namespace detail {
namespace {

std::array<usage, max_spaces> in_space;
usage in_all;

}  // namespace

bool reserve_memory(space where, std::uint64_t bytes) noexcept {
    if (!in_space[where.id()].reserve(bytes)) return false;
    in_all.held.fetch_add(bytes, std::memory_order_relaxed);
    return true;
}

void keep_peak_memory(space where) noexcept {
    in_space[where.id()].keep_peak();
    in_all.keep_peak();
}

void add_memory(space where, std::uint64_t bytes) noexcept {
    in_space[where.id()].add(bytes);
    in_all.add(bytes);
}

void remove_memory(space where, std::uint64_t bytes) noexcept {
    in_space[where.id()].remove(bytes);
    in_all.remove(bytes);
}

void set_memory_limit(space where, std::uint64_t bytes) noexcept {
    in_space[where.id()].limit.store(bytes, std::memory_order_relaxed);
}

}  // namespace detail

memory_usage memory_in(space where) { return detail::in_space[where.id()].read(); }
memory_usage memory_in_all() { return detail::in_all.read(); }

void reset_peak_memory() {
    for (detail::usage& each : detail::in_space) each.forget_peak();
    detail::in_all.forget_peak();
}

}  // namespace unibuf
