// tracking/hot_pages.hpp: which pages are written again and again.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

/// A page that was found in so many scans, one after the other, is hot. Tests set it.
inline constinit std::atomic<unsigned> scans_until_hot = 4;

/// A hot page that so many scans, one after the other, have found as it was is not hot any more. Tests set it.
inline constinit std::atomic<unsigned> scans_until_cold = 64;

/// Learns which pages are to be compared instead of protected. To protect a page anew and to take the fault of the next
/// store to it costs 5 to 40 us, as other processors may have to be told; to compare it costs 0.2 us.
class hot_pages {
public:
    /// Returns how many pages of a memory of so many bytes may be hot: beside a large one, their images take little.
    static std::size_t most(std::size_t bytes) noexcept;

    /// Learns from a scan of `range`, which has found these of its `pages`. Returns those that are hot by now, `most`
    /// or fewer.
    std::vector<byte_range> learn(byte_range range, std::span<const byte_range> found, const units& pages,
                                  std::size_t most);

    /// Forgets what was learned of pages in `range`.
    void forget(byte_range range) noexcept;

private:
    struct candidate {
        std::size_t end = 0;
        unsigned times = 0;  // scans that have found it, one after the other
    };
    using candidates = std::map<std::size_t, candidate>;  // key: where the page begins

    candidates candidates_;
};

}  // namespace unibuf::tracking
