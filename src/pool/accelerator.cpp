// pool/accelerator.cpp: gathers what backends, counters and pools know of a space.
#include "unibuf/accelerator.hpp"

#include <algorithm>

#include "backends/spaces.hpp"
#include "pool/all_pools.hpp"
#include "unibuf/cuda.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {

device_info accelerator::properties() const { return backends::info_of(where_); }

accelerator_memory accelerator::memory() const {
    const memory_info memory = memory_of(where_);
    const std::uint64_t pooled = detail::all_pools::instance().held_at(where_);
    const memory_usage used = memory_in(where_);
    return {.total = memory.total,
            .free = memory.free,
            .held = used.held,
            .peak = used.peak,
            .limit = used.limit,
            .pooled = std::min(pooled, used.held),
            .pinned = where_ == host ? cuda::pinned_memory().held : 0};
}

accelerator get_accelerator() { return accelerator(default_device()); }
accelerator get_accelerator(space where) { return accelerator(where); }

}  // namespace unibuf
