// pool/pool_state.hpp: the buffers that a pool holds.
//
// A buffer that is released lies in a slot of the thread that released it, where one atomic exchange takes it; what
// finds its slot taken goes to the bins that all threads share, under a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "buffer/core.hpp"
#include "process/mutex.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::detail {

class pool_state : public std::enable_shared_from_this<pool_state> {
public:
    pool_state();
    ~pool_state();
    pool_state(const pool_state&) = delete;
    pool_state& operator=(const pool_state&) = delete;

    /// Returns a handle of its own to a buffer.
    core* acquire(std::size_t bytes, const buffer_options& options);

    /// Counts a buffer that was acquired as in use, until it is released.
    void begin_use(core& of, std::size_t bytes) noexcept {
        if (counts_use_.load(std::memory_order_relaxed)) of.tag().begin_use(bytes);
    }
    void count_use() noexcept { counts_use_.store(true, std::memory_order_relaxed); }
    pool_use use() const noexcept;

    /// Takes over the handle, unless it throws.
    void release(core& of);

    void trim(std::uint64_t bytes);
    void limit(std::uint64_t bytes);
    pool_statistics statistics();

    /// Returns the bytes at `where` of the buffers that are there to be acquired.
    std::uint64_t held_at(space where);

private:
    static constexpr std::size_t slots = 16;

    /// A cache that one thread at a time owns. Others may take what lies there.
    struct alignas(64) thread_cache {
        std::array<std::atomic<core*>, slots> slot{};
        std::atomic<std::uint64_t> hits = 0;
        std::atomic<std::uint64_t> misses = 0;
        std::atomic<bool> owned = true;
    };
    struct thread_caches;

    struct held {
        core* of;  // views of it may be held still
        std::uint64_t when;
    };

    thread_cache& mine();
    std::atomic<core*>& slot_of(thread_cache& in, const pool_key& key) const noexcept;
    core* take_from_bins(const pool_key& key);
    core* take_unused(const pool_key& key) noexcept;
    void keep(core& of) noexcept;
    bool put_into_bin(core& of) noexcept;
    void gather() noexcept;
    core* take_oldest_beyond(std::uint64_t bytes) noexcept;
    void drop_beyond(std::uint64_t bytes) noexcept;
    core* make(std::size_t bytes, const buffer_options& options, const pool_key& key) const;

    const std::uint64_t id_;
    const std::shared_ptr<pool_counters> counters_ = std::make_shared<pool_counters>();
    std::atomic<bool> counts_use_ = false;
    std::atomic<std::uint64_t> limit_ = no_memory_limit;

    process::mutex mutex_{process::mutex::rank::pool};
    std::vector<std::unique_ptr<thread_cache>> caches_;
    std::map<pool_key, std::vector<held>> bins_;  // in each, the buffer that was released last is at the end
    std::uint64_t bin_bytes_ = 0;
    std::uint64_t releases_ = 0;
};

}  // namespace unibuf::detail
