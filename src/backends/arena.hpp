// backends/arena.hpp: small allocations from large blocks, so that many of them do not cost as many calls of a driver.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/holes.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// An arena may be used by any thread. What was freed is given out again when all work is done that may use it: at
/// once, or, where the program may have queued work that nobody knows of, after a fence behind all work. Whoever makes
/// such a fence tells of it by begin_fence and end_fence; an arena asks for one itself only where it has no room
/// otherwise.
class arena {
public:
    /// One block of the driver's memory; its destructor frees it.
    class block {
    public:
        virtual ~block() = default;
        virtual std::uintptr_t address() const noexcept = 0;
    };

    struct measures {
        std::size_t block = std::size_t{2} << 20;
        std::size_t granule = 256;                    // sizes and addresses are multiples of this
        std::size_t largest = std::size_t{64} << 10;  // larger allocations are not for an arena
    };

    /// `make` throws where there is no room; `mark` has a fence made after all work that was submitted before, and
    /// throws where none can be had now. Both are called without a lock.
    using maker = std::function<std::unique_ptr<block>(std::size_t bytes)>;
    using marker = std::function<void()>;
    arena(const measures& of, maker make, marker mark);

    bool serves(std::size_t bytes) const noexcept { return bytes <= of_.largest; }

    struct place {
        std::uintptr_t address = 0;
        std::uintptr_t block = 0;  // address of the block that the allocation is a part of
    };

    /// Returns room for `bytes`, at most measures::largest, which hold anything. Throws what `make` throws; where there
    /// is no room, it does so after work that uses what was freed has had a second to end.
    place allocate(std::size_t bytes);

    /// `in_use`: work that nobody has a fence of may use the bytes.
    void free(std::uintptr_t address, std::size_t bytes, bool in_use) noexcept;

    // One pair of calls at a time, around the making of a fence behind all work that was submitted before. Where none
    // can be made, there is no end: the next pair does what is left.
    void begin_fence() noexcept;
    void end_fence(const fence& all) noexcept;

    /// Waits for work, and gives back the blocks that nothing is left in. Returns whether there were any.
    bool trim(std::chrono::nanoseconds timeout = forever);

    struct usage {
        std::size_t block_bytes = 0;
        std::size_t bytes = 0;  // size of all allocations, rounded up
    };
    usage used() const;

private:
    using clock = std::chrono::steady_clock;

    struct range {
        std::uintptr_t begin;
        std::size_t bytes;
    };

    /// Ranges that were freed, and are perhaps still used by work.
    struct retired {
        fence until;
        std::vector<range> ranges;
    };

    std::size_t rounded(std::size_t bytes) const noexcept;
    bool ask_for_fence();
    void give(const range& unused) noexcept;
    std::optional<place> take(std::size_t bytes);
    void reclaim();
    bool wait_for_oldest(clock::time_point deadline);
    void add(std::unique_ptr<block> made);
    bool drop_empty(std::size_t kept);

    const measures of_;
    const maker make_;
    const marker mark_;

    mutable std::mutex mutex_;
    holes holes_;
    std::map<std::uintptr_t, std::unique_ptr<block>> blocks_;
    std::size_t bytes_ = 0;
    std::vector<range> freed_;
    std::vector<range> freed_before_fence_;  // before the fence that is made now
    std::deque<retired> retired_;
};

}  // namespace unibuf::backends
