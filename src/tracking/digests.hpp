// tracking/digests.hpp: digests of what devices were sent, where the program's writes are not found.
//
// A block of the host's copy that still has the digest of what was sent is not sent again. Two blocks that differ have
// one digest with a chance of 2^-64 at most, as the process draws its key at random: the digest is the function NH of
// UMAC (Black, Halevi, Krawczyk, Krovetz and Rogaway, 1999) with words of 32 bits, twice.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/spaces.hpp"
#include "containers/few.hpp"
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

/// What it has cost to send, and to compare, per byte; decides which of the two is cheaper. Pure.
class digest_costs {
public:
    using seconds = std::chrono::duration<double>;

    /// Shorter transfers tell more about a call of the driver than about bytes.
    static constexpr std::size_t least_sent = std::size_t{64} << 10;

    /// Notes how long a transfer to `device` took: of bytes as they are in the memory, or of a copy whose digests are
    /// kept.
    void sent(coherence::space_id device, std::size_t bytes, seconds took, bool digested);

    void compared(std::size_t bytes, seconds took) noexcept { keep_least(compare_, bytes, took); }

    /// Returns whether it is known what it costs to send bytes to `device` as they are.
    bool knows(coherence::space_id device) const noexcept;

    /// Returns whether comparing so many bytes and sending what was `written` of them, with digests, costs less than to
    /// send all of them as they are.
    bool pays(coherence::space_id device, std::size_t bytes, std::size_t written) const noexcept;

private:
    /// The seconds that a byte took at best, lately; 0 where that is not known.
    struct costs_at {
        coherence::space_id device = coherence::host;
        double plain = 0;
        double digested = 0;
    };

    static void keep_least(double& known, std::size_t bytes, seconds took) noexcept;
    const costs_at* at(coherence::space_id device) const noexcept;

    few<costs_at, 2> devices_;
    double compare_ = 0;
};

/// The digests of one memory. Offsets are from its beginning. Which of them are of use, the directory knows:
/// knowledge::digested. Not thread-safe, but for the writers of the memory.
class digests {
public:
    explicit digests(std::span<const std::byte> memory);

    /// Returns the blocks that `range` has all of.
    byte_range within(byte_range range) const noexcept { return blocks_.within(range); }

    /// Returns whether `section`, of which a device is to get some bytes, is to be sent with digests kept.
    bool is_wanted(coherence::space_id device, byte_range section) noexcept;

    /// Makes room for all digests, which copy() needs.
    void make_room() { kept_.resize((memory_.size() + digested_block - 1) / digested_block); }

    /// Adds those of `blocks` that have another digest than the one that is kept.
    void add_changed(byte_range blocks, std::vector<byte_range>& to);

    /// Decides how `section` is sent to `device` in this round and the next ones, after so many of its bytes have been
    /// compared, of which some were `written`.
    void decide(coherence::space_id device, byte_range section, std::size_t compared, std::size_t written) noexcept;

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

    digest_costs& costs() noexcept { return costs_; }

private:
    template <class Visit>
    void for_each_block(byte_range blocks, const Visit& visit) const {
        for (std::size_t at = blocks.begin; at < blocks.end; at += digested_block)
            visit(at / digested_block, byte_range{at, std::min(at + digested_block, blocks.end)});
    }
    digest copy_block(byte_range block, std::byte* to) const noexcept;

    std::span<const std::byte> memory_;
    units blocks_;
    std::vector<digest> kept_;
    sections sections_;
    digest_costs costs_;
};

}  // namespace unibuf::tracking
