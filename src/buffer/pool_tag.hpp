// buffer/pool_tag.hpp: what a buffer knows of the pool that it belongs to.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "trace/usage.hpp"

namespace unibuf::detail {

/// Buffers with the same key may stand for each other.
struct pool_key {
    std::size_t size_class = 0;
    std::uint64_t options = 0;

    friend auto operator<=>(const pool_key&, const pool_key&) = default;
};

/// The tag of a buffer that belongs to a pool.
struct pool_tag {
    ~pool_tag() { usage->remove(key.size_class); }

    pool_key key;
    std::uint64_t pool = 0;
    std::shared_ptr<trace::usage> usage;  // shared by the pool and its buffers: it lives as long as one of them
    bool released = false;
};

}  // namespace unibuf::detail
