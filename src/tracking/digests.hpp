// tracking/digests.hpp: digests of what devices were sent, where the program's writes are not found.
//
// A block of the host's copy that still has the digest of what was sent is not sent again. Two blocks that differ have
// one digest with a chance of 2^-64 at most, as the process draws its key at random: the digest is the function NH of
// UMAC (Black, Halevi, Krawczyk, Krovetz and Rogaway, 1999) with words of 32 bits, twice.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/byte_ranges.hpp"
#include "coherence/spaces.hpp"
#include "tracking/policy.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

struct digest {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    friend bool operator==(const digest&, const digest&) = default;
};

/// The bytes that one digest is of, which takes a 256th of their memory.
inline constexpr std::size_t digested_block = 4096;

/// Returns the digest of a block, or of the part of one that a memory ends with.
digest digest_of(std::span<const std::byte> block) noexcept;

/// What it has cost to send to one device, and to compare; decides which of the two is cheaper. Pure.
class digest_costs {
public:
    using seconds = std::chrono::duration<double>;

    /// Shorter transfers tell more about a call of the driver than about bytes.
    static constexpr std::size_t least_sent = std::size_t{64} << 10;

    /// Notes how long a transfer took, of bytes as they are in the memory.
    void sent(std::size_t bytes, seconds took) noexcept;

    /// Notes how long a transfer took in so many pieces, of a copy whose digests are kept.
    void sent_digested(std::size_t bytes, std::size_t pieces, seconds took) noexcept;

    void compared(std::size_t bytes, seconds took) noexcept { keep_least(compare_, bytes, took); }

    /// Returns whether it is known what it costs to send bytes as they are.
    bool is_known() const noexcept { return plain_ != 0; }

    /// Returns whether comparing so many bytes and sending what was `written` of them, in pieces, with digests, costs
    /// less than to send all of them as they are.
    bool pays(std::size_t bytes, std::size_t written, std::size_t pieces) const noexcept {
        return gain(bytes, written, pieces) > 0;
    }

    // Each of these is a part of what it takes to send `of` bytes as they are; 0 where that is not known.

    /// Returns what is spared where so many bytes were compared, of which some pieces were `written`.
    double gain(std::size_t bytes, std::size_t written, std::size_t pieces, std::size_t of) const noexcept;
    /// Returns what it takes to keep digests of what is sent, beside sending it: a tenth at least, as long as nobody
    /// has seen what it takes.
    double keeping(std::size_t bytes, std::size_t of) const noexcept;

private:
    double gain(std::size_t bytes, std::size_t written, std::size_t pieces) const noexcept;  // in seconds
    double sending_digested() const noexcept { return std::max(digested_, plain_ + compare_); }
    static void keep_least(double& known, std::size_t bytes, seconds took) noexcept;

    // The seconds that a byte took at best, lately; 0 where that is not known.
    double plain_ = 0;
    double digested_ = 0;
    double compare_ = 0;
    double each_ = 0;  // seconds that a piece takes beside its bytes
};

/// The digests of one memory. Offsets are from its beginning. Which of them are of use, the directory knows:
/// knowledge::digested. Not thread-safe, but for the writers of the memory.
class digests {
public:
    explicit digests(std::span<const std::byte> memory);

    /// Returns the blocks that `range` has all of.
    byte_range within(byte_range range) const noexcept { return blocks_.within(range); }

    /// Returns whether `section`, of which the device is to get some bytes, is to be sent with digests kept.
    bool is_wanted(coherence::space_id device, byte_range section) noexcept;

    /// Makes room for all digests, which copy() needs.
    void make_room();

    /// Adds those of `blocks` that have another digest than the one that is kept.
    void add_changed(byte_range blocks, std::vector<byte_range>& to);

    /// Decides how `section` is sent to the device in this round and the next ones, after so many of its bytes have
    /// been compared, of which some pieces were `written`. Returns whether digests go on: else it is to be sent as it
    /// is.
    bool decide(coherence::space_id device, byte_range section, std::size_t compared, const byte_ranges& written);

    /// Copies `blocks`, and keeps the digests of the copy. A block that `is_kept(byte_range)` of has one that others
    /// rely on: it stays. Returns whether no block has another digest than the one that stayed.
    template <class IsKept>
    bool copy(byte_range blocks, std::byte* to, const IsKept& is_kept) {
        bool agree = true;
        for_each_block(blocks, [&](std::size_t index, byte_range block) {
            const digest made = copy_block(block, to + (block.begin - blocks.begin));
            if (kept_[index] == made) return;
            if (is_kept(block)) {
                agree = false;
            } else {
                kept_[index] = made;
            }
        });
        return agree;
    }

    digest_costs& costs_at(coherence::space_id device) { return at(device).costs; }

private:
    /// What comparing has cost in one section, and brought, in parts of what it takes to send it as it is.
    struct section_account {
        float lost = 0;                // more than it has brought
        std::uint8_t rounds_left = 0;  // in which no digests are kept
        std::uint8_t next_pause = 0;   // value of `rounds_left` the next time; 0 before the first
    };

    struct device_history {
        coherence::space_id device;
        digest_costs costs;
        std::vector<section_account> sections;
        std::size_t compared = 0;  // sections, since some were sent as they are to see what that takes
        std::size_t trials = 0;
    };

    device_history& at(coherence::space_id device);
    static bool goes_on(section_account& of, double lost) noexcept;

    template <class Visit>
    void for_each_block(byte_range blocks, const Visit& visit) const {
        for (std::size_t at = blocks.begin; at < blocks.end; at += digested_block)
            visit(at / digested_block, byte_range{at, std::min(at + digested_block, blocks.end)});
    }
    digest copy_block(byte_range block, std::byte* to) const noexcept;

    std::span<const std::byte> memory_;
    units blocks_;
    std::vector<digest> kept_;
    std::vector<device_history> devices_;
};

}  // namespace unibuf::tracking
