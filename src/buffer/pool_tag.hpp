// buffer/pool_tag.hpp: what a buffer knows of the pool that it belongs to.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "memory/usage.hpp"

namespace unibuf::detail {

/// Buffers with the same key may stand for each other.
struct pool_key {
    std::size_t size_class = 0;
    std::uint64_t options = 0;

    friend auto operator<=>(const pool_key&, const pool_key&) = default;
};

/// What is counted of a pool. It lives as long as the pool or one of its buffers.
struct pool_counters {
    usage memory;  // of all buffers, held or in use
    usage bytes_in_use;
    usage buffers_in_use;
    std::atomic<std::uint64_t> total_bytes = 0;
    std::atomic<std::uint64_t> total_buffers = 0;
};

/// The tag of a buffer that belongs to a pool.
struct pool_tag {
    pool_tag(const pool_key& of, std::uint64_t its_pool, std::shared_ptr<pool_counters> counted_in)
        : key(of), pool(its_pool), counters(std::move(counted_in)) {
        counters->memory.add(key.size_class);
    }
    ~pool_tag() {
        end_use();
        counters->memory.remove(key.size_class);
    }
    pool_tag(const pool_tag&) = delete;
    pool_tag& operator=(const pool_tag&) = delete;

    void begin_use(std::size_t bytes) noexcept {
        used_bytes = bytes;
        counters->bytes_in_use.add(bytes);
        counters->buffers_in_use.add(1);
        counters->total_bytes.fetch_add(bytes, std::memory_order_relaxed);
        counters->total_buffers.fetch_add(1, std::memory_order_relaxed);
    }
    void end_use() noexcept {
        if (!used_bytes) return;
        counters->bytes_in_use.remove(*used_bytes);
        counters->buffers_in_use.remove(1);
        used_bytes.reset();
    }

    pool_key key;
    std::uint64_t pool;
    std::shared_ptr<pool_counters> counters;
    std::optional<std::size_t> used_bytes;  // set where the use is counted
    std::atomic<bool> released = false;     // is changed by whoever has the only handle, and read by evictions
};

}  // namespace unibuf::detail
