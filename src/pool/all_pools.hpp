// pool/all_pools.hpp: the pools of this process, for those who count what lies in them.
#pragma once

#include <cstdint>
#include <vector>

#include "process/mutex.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

class pool_state;

/// The list of all pools. Any thread.
class all_pools {
public:
    static all_pools& instance();

    void add(pool_state& of);
    void remove(pool_state& of) noexcept;

    /// Returns the bytes at `where`, as memory_in counts them, of the buffers that are there to be acquired.
    std::uint64_t held_at(space where);

private:
    // Taken before the mutex of a pool, which is taken before the lock of a buffer.
    process::mutex mutex_{process::mutex::rank::pools};
    std::vector<pool_state*> all_;
};

}  // namespace unibuf::detail
