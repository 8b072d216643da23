// tracking/hot_pages.hpp: pages that are written again and again, which are compared with a copy instead of protected.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/byte_ranges.hpp"

namespace unibuf::tracking {

/// A page that was found in so many scans, one after the other, is hot. Tests set it.
inline constinit std::atomic<unsigned> scans_until_hot = 4;

/// A hot page that so many scans, one after the other, have found as it was is not hot any more. Tests set it.
inline constinit std::atomic<unsigned> scans_until_cold = 64;

/// The hot pages of one memory. To protect a page anew and to take the fault of the next store to it costs 5 to 40 us,
/// as other processors may have to be told; to compare it costs 0.2 us. Offsets are those of the memory, which begins
/// with a page. Not thread-safe, but for the writers of the memory.
class hot_pages {
public:
    explicit hot_pages(std::span<const std::byte> memory) noexcept : memory_(memory) {}

    bool empty() const noexcept { return hot_.empty(); }

    /// Returns the bytes of hot pages.
    byte_ranges all() const;

    bool has_any_of(byte_range range) const noexcept;

    /// Copies what the bytes of `range` that hot pages have held when these were copied, to their places from `to` on.
    void copy_images(byte_range range, std::byte* to) const noexcept;

    /// Returns the bytes of `range`, which are whole pages, that no hot page has.
    byte_ranges beside(byte_range range) const;

    /// Adds the hot pages in `range` that are not as they were when they were copied, and copies them.
    void scan(byte_range range, std::vector<byte_range>& written);
    bool any_written(byte_range range) const;

    /// Learns which pages beside hot ones a scan of `range` has found, and copies those that become hot: they were
    /// protected by that scan, and need not be from now on. Returns them.
    byte_ranges learn(byte_range range, std::span<const byte_range> found);

    /// Returns hot pages in `range` that nobody has written for long. They are to be protected; then forget() adds
    /// those that were written in between.
    byte_ranges cold(byte_range range) const;
    void forget(const byte_ranges& pages, std::vector<byte_range>& written);

    /// Forgets pages in `range`, which are watched no more, or protected anew.
    void forget(byte_range range) noexcept;

private:
    struct page {
        byte_range bytes;
        std::unique_ptr<std::byte[]> copy;
        unsigned quiet = 0;  // scans that have found it as it was
    };
    struct candidate {
        byte_range bytes;
        unsigned times = 0;  // scans that have found it
    };

    std::size_t most() const noexcept;
    bool is_as_it_was(const page& of) const noexcept;
    void copy(page& of) const noexcept;

    std::span<const std::byte> memory_;
    std::vector<page> hot_;  // in their order
    std::vector<candidate> candidates_;
};

}  // namespace unibuf::tracking
