// tracking/watch.hpp: which bytes of an allocation the program has written, without being told.
//
// A write is found by its unit: a page where the kernel finds it, a cache line where contents are compared. Writes of
// the value that was there may be missed where contents are compared: they change nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coherence/byte_range.hpp"

namespace unibuf::tracking {

/// Of one allocation of the host. Offsets are from its beginning. Not thread-safe; writers are other threads, which
/// need not know. Its memory outlives it.
///
/// Every function may throw error(unsupported) where tracking has come to an end, as in a forked process: what was
/// written since is not known then, and counts as written.
class watch {
public:
    virtual ~watch() = default;

    /// How much of a write is known: offsets of what is found are multiples of it, but for the end of the memory.
    virtual std::size_t unit() const noexcept = 0;

    /// Whether contents are compared. Then a write costs no more where it is watched; else it is worth not to watch
    /// what is rewritten all the time.
    virtual bool compares() const noexcept = 0;

    /// Writes to `range` are found from now on; what came before is forgotten. Ends of it that are no multiples of the
    /// unit are rounded outwards.
    virtual void arm(byte_range range) = 0;

    /// Writes to `range`, rounded inwards, are not found until it is armed again, and cost nothing.
    virtual void disarm(byte_range range) = 0;

    /// Adds what of `range`, rounded outwards and armed all over, was written since it was armed or scanned. What comes
    /// later is found by the next scan: no write is missed.
    virtual void scan(byte_range range, std::vector<byte_range>& written) = 0;

    /// The same without forgetting it, for a look from the side.
    virtual bool any_written(byte_range range) = 0;

    // Only of memory that was zero, and was not armed since: adds what of `range`, rounded outwards, anybody has
    // written since. The second arms it too, and misses nothing in between.
    /// The memory was used before, and was made zero where it is asked for that: then it is found by contents, and
    /// zeros that were written are none.
    virtual void was_used() noexcept {}
    virtual void touched(byte_range range, std::vector<byte_range>& found) = 0;
    virtual void arm_fresh(byte_range range, std::vector<byte_range>& found) = 0;
};

/// Null where writes to this memory cannot be found: of a page and more, where it is no whole pages of the process's
/// own, has a userfaultfd of the program's on it already, or the process would soon have no mapping left.
///
/// `mapping`, where it is not empty, is what the pages are a part of, with others that may be watched: then it is told
/// to the kernel as one, and stays so.
std::unique_ptr<watch> make_watch(std::span<std::byte> memory, bool whole_pages, std::span<std::byte> mapping = {});

/// How writes are found in this process: "userfaultfd and PAGEMAP_SCAN", or that they are not, and why.
struct mechanism {
    bool finds_writes = false;
    std::string description;
};
const mechanism& about();

}  // namespace unibuf::tracking
