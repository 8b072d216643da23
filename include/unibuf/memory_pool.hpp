// unibuf/memory_pool.hpp: buffers that are used again, with the memory that they have.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>

#include "unibuf/export.hpp"
#include "unibuf/unified_buffer.hpp"

namespace unibuf {

namespace detail {
class pool_state;
}

struct pool_statistics {
    std::uint64_t hits = 0;    // acquisitions that were given a buffer that was there
    std::uint64_t misses = 0;  // acquisitions for which a buffer was made
    std::uint64_t held = 0;    // buffers that are there to be acquired
    std::uint64_t held_bytes = 0;
    std::uint64_t peak_bytes = 0;  // the most that all buffers of the pool, held or in use, had at one time
};

/// What is in use: buffers that were acquired, and neither released nor ended; bytes as they were asked for. The names
/// are those of rmm::mr::statistics_resource_adaptor and rmm.statistics.
struct pool_use {
    std::uint64_t current_bytes = 0;
    std::uint64_t current_count = 0;
    std::uint64_t peak_bytes = 0;  // the most at one time
    std::uint64_t peak_count = 0;
    std::uint64_t total_bytes = 0;  // of all acquisitions
    std::uint64_t total_count = 0;

    friend bool operator==(const pool_use&, const pool_use&) = default;
};

/// Keeps released buffers, with their copies, and gives them to those who acquire one of the same size and options: the
/// one that was released last comes first. Any thread may use it; each has a few buffers of its own, so that threads do
/// not wait for each other. An acquisition and a release take about 50 ns together.
///
/// A buffer has room for up to an eighth more than was asked for, or for 64 bytes, so that near sizes share buffers;
/// its size is what was asked for. Where memory is short, the copies of buffers that a pool holds go without being
/// written back: see limit_memory.
class UNIBUF_API memory_pool {
public:
    memory_pool();
    ~memory_pool();  // buffers that are in use go on, as plain ones
    memory_pool(const memory_pool&) = delete;
    memory_pool& operator=(const memory_pool&) = delete;

    /// Returns a buffer without the content that it had before: it reads as zero, as if nobody had written it, unless
    /// options.uninitialized asks for the bytes as they are.
    buffer acquire(std::size_t bytes, const buffer_options& options = {});

    template <class T>
    unified_buffer<T> acquire(const shape& of, const buffer_options& options = {}) {
        return unified_buffer<T>(acquire(unified_buffer<T>::bytes_of(of), options), of);
    }

    template <class T, std::integral Extent>
    unified_buffer<T> acquire(std::initializer_list<Extent> extents, const buffer_options& options = {}) {
        return acquire<T>(shape::of(extents), options);
    }

    /// Puts a buffer back into the pool. Pointers and handles that it gave out end, and nobody acquires it as long as
    /// views of it are held. Throws error(access_conflict) while it is leased, and error(invalid_argument) where it is
    /// a view, shared between processes, not of this pool, or was released before; after an error it is the caller's
    /// still.
    void release(buffer&& of);

    template <class T>
    void release(unified_buffer<T>&& of) {
        release(std::move(of.bytes_));
        of.shape_ = shape(std::size_t{0});
    }

    /// Makes `count` buffers that can be acquired without allocating, with copies at the host and at `where`. Throws
    /// error(out_of_memory) where these do not fit.
    void reserve(std::size_t count, std::size_t bytes, space where = host, const buffer_options& options = {});

    /// Frees buffers that are held, those that were released longest ago first, until at most `bytes` are.
    void trim(std::uint64_t bytes);
    void clear() { trim(0); }

    /// Holds at most `bytes` from now on, or no_memory_limit: what is released beyond is freed.
    void limit(std::uint64_t bytes);

    pool_statistics statistics() const;

    /// Counts from now on what is in use. Every acquisition and release then touches what all threads share, so that
    /// they take longer, most of all on many threads at once.
    void count_use();

    /// Returns what was counted since count_use(): of buffers that were acquired before, nothing.
    pool_use use() const;

private:
    std::shared_ptr<detail::pool_state> state_;
};

/// Returns the pool that a program shares. It is there until the process ends.
UNIBUF_API memory_pool& get_memory_pool();

/// A buffer that is acquired from a pool, and released to it at the end of a scope.
template <class T>
class pooled {
public:
    pooled(memory_pool& of, const shape& wanted, const buffer_options& options = {})
        : of_(of), buffer_(of.acquire<T>(wanted, options)) {}

    /// A lease that outlives the scope keeps the buffer out of the pool.
    ~pooled() {
        try {
            of_.release(std::move(buffer_));
        } catch (...) {  // the buffer goes with its last lease
        }
    }
    pooled(const pooled&) = delete;
    pooled& operator=(const pooled&) = delete;

    unified_buffer<T>& operator*() noexcept { return buffer_; }
    unified_buffer<T>* operator->() noexcept { return &buffer_; }

private:
    memory_pool& of_;
    unified_buffer<T> buffer_;
};

}  // namespace unibuf
