// pool/all_pools.cpp: the pools of this process, for those who count what lies in them.
#include "pool/all_pools.hpp"

#include "pool/pool_state.hpp"

namespace unibuf::detail {

all_pools& all_pools::instance() {
    static auto* const only = new all_pools;  // pools may go when static objects do
    return *only;
}

void all_pools::add(pool_state& of) {
    const std::scoped_lock lock(mutex_);
    all_.push_back(&of);
}

void all_pools::remove(pool_state& of) noexcept {
    const std::scoped_lock lock(mutex_);
    std::erase(all_, &of);
}

std::uint64_t all_pools::held_at(space where) {
    const std::scoped_lock lock(mutex_);
    std::uint64_t result = 0;
    for (pool_state* const each : all_) result += each->held_at(where);
    return result;
}

}  // namespace unibuf::detail
