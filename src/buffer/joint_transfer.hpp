// buffer/joint_transfer.hpp: one transfer that many buffers make together.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

class core;

/// While it is a member, a buffer's range is claimed: nobody else gets to it.
struct joint_transfer {
    struct member {
        core* of = nullptr;
        std::uint64_t claim = 0;
        std::size_t moves = 0;  // how many of them are its own
    };

    /// What one device does.
    struct one_way {
        coherence::step like;  // each of the moves, but for its range
        std::vector<backends::move_of> moves;
        std::vector<member> members;  // in the order of the moves
    };

    std::vector<one_way> ways;
    std::vector<coherence::step> planned;  // for the one that joins now
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    one_way& way_of(const coherence::step& like);

    /// The buffer `of` takes part with ranges that are in order and apart, to make `where` current. False, and nothing,
    /// where that takes more than moves between the host and one device, or would have to wait: a batch waits for
    /// nobody while it holds claims of other buffers, so such a buffer is synced alone.
    bool join(core& of, space where, std::span<const byte_range> ranges);

    /// Moves what has joined, and lets all leave: others may join then. Gives the first failure, or null; a buffer
    /// whose bytes did not arrive is as before.
    std::exception_ptr carry_out() noexcept;
};

}  // namespace unibuf::detail
