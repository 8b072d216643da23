// buffer/pool_tag.hpp: what a buffer knows of the pool that it belongs to.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace unibuf::detail {

/// Buffers with the same key may stand for each other.
struct pool_key {
    std::size_t size_class = 0;
    std::uint64_t options = 0;

    friend auto operator<=>(const pool_key&, const pool_key&) = default;
};

/// All bytes of the buffers of a pool. It outlives the pool as long as one of them does.
class pool_tally {
public:
    void add(std::uint64_t bytes) noexcept {
        const std::uint64_t now = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
        std::uint64_t seen = peak_.load(std::memory_order_relaxed);
        while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
        }
    }
    void remove(std::uint64_t bytes) noexcept { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
    std::uint64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> bytes_ = 0;
    std::atomic<std::uint64_t> peak_ = 0;
};

/// What a buffer knows of its pool.
struct pool_tag {
    ~pool_tag() { tally->remove(key.size_class); }

    pool_key key;
    std::uint64_t pool = 0;
    std::shared_ptr<pool_tally> tally;
    bool released = false;
};

}  // namespace unibuf::detail
