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
#include "coherence/byte_ranges.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

/// Watches one allocation of the host. Offsets are from its beginning. Not thread-safe; the writers are other threads,
/// which need not know. The memory outlives the watch.
///
/// Every function may throw error(unsupported) where tracking has come to an end, as in a forked process: what was
/// written since is not known then, and counts as written.
class watch {
public:
    virtual ~watch() = default;

    /// Returns how exactly a write is known: what is found are whole units.
    virtual units in_units() const noexcept = 0;

    /// Returns whether all contents are compared. Then a write costs no more where it is watched; else it pays not to
    /// watch what is rewritten all the time.
    virtual bool compares() const noexcept = 0;

    /// Returns the ranges whose contents are compared.
    virtual byte_ranges compared() const = 0;

    /// Returns whether some of `range` is.
    virtual bool compares_any_of(byte_range range) const noexcept = 0;

    /// Copies what the bytes of `range` that are compared held when they were armed or scanned last. `to` is the place
    /// of all of `range`, and what is there of other bytes stays. REQUIRES: all of it is armed.
    virtual void copy_images(byte_range range, std::byte* to) const noexcept = 0;

    /// Writes to `range` are found from now on; what came before is forgotten. The ends of `range` are rounded outwards
    /// to multiples of the unit.
    virtual void arm(byte_range range) = 0;

    /// Writes to `range`, rounded inwards, are not found until it is armed again, and cost nothing.
    virtual void disarm(byte_range range) = 0;

    /// Adds what was written of `range`, rounded outwards and armed all over, since it was armed or scanned. Later
    /// writes are found by the next scan: none is missed. Where it throws, what was found until then has been added,
    /// and all else is left for the next scan.
    virtual void scan(byte_range range, std::vector<byte_range>& written) = 0;

    /// Returns whether anything of `range` was written, and leaves that for the next scan to find.
    virtual bool any_written(byte_range range) = 0;

    // touched and arm_fresh are for memory that was zero, and was not armed since. Both add what anybody has written
    // since of `range`, rounded outwards. arm_fresh arms it too, and misses nothing in between.
    /// Notes that the memory was used before, and was made zero where that is asked for. What was touched is found by
    /// contents then, and a zero that was written does not count.
    virtual void was_used() noexcept {}
    virtual void touched(byte_range range, std::vector<byte_range>& found) = 0;
    virtual void arm_fresh(byte_range range, std::vector<byte_range>& found) = 0;
};

/// Returns which bytes of `memory`, in private pages that were zero at first, lie in pages that somebody may have
/// touched: all others are zero. That is all of them where the system does not tell.
byte_ranges touched(std::span<std::byte> memory);

/// Which pages of the memory are the process's own, and hold nothing else.
enum class own_pages {
    none,
    inside,  // those that the memory has all of
    all,     // those that the memory has a byte of
};

/// Up to so many bytes are compared, wherever they lie: that takes a tenth of the time that the kernel takes to tell
/// whether a page was written.
inline constexpr std::size_t most_compared = 4096;

/// Makes a watch; null where writes to this memory cannot be found. That is so for a page and more where none are its
/// own, where the program has a userfaultfd on them already, or where the process would soon have no mapping left.
///
/// `mapping`, where it is not empty, is the mapping that the pages are a part of, with others that may be watched: it
/// is told to the kernel as one, and stays so.
std::unique_ptr<watch> make_watch(std::span<std::byte> memory, own_pages own, std::span<std::byte> mapping = {});

/// Tells how writes are found in this process: "userfaultfd and PAGEMAP_SCAN", or that they are not, and why.
struct mechanism {
    bool finds_writes = false;
    std::string description;
};
const mechanism& about();

}  // namespace unibuf::tracking
