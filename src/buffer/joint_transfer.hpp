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

/// The range of a buffer is claimed while the buffer is a member: nobody else gets to it.
struct joint_transfer {
    struct member {
        core* of = nullptr;
        std::uint64_t claim = 0;
        std::size_t moves = 0;  // number of the moves that are this buffer's
    };

    /// The moves between the host and one device, in one direction.
    struct one_way {
        coherence::step like;  // what each of the moves is, but for its range
        std::vector<backends::move_of> moves;
        std::vector<member> members;  // these stand in the order of the moves
    };

    std::vector<one_way> ways;
    std::vector<coherence::step> planned;  // steps of the buffer that joins now
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    one_way& way_of(const coherence::step& like);

    /// Lets the buffer `of` take part, with ranges that are in order and apart, to make `where` current. Returns false,
    /// and does nothing, where that takes more than moves between the host and one device, or would have to wait: a
    /// batch waits for nobody while it holds claims of other buffers, so such a buffer is synced alone.
    bool join(core& of, space where, std::span<const byte_range> ranges);

    /// Moves what has joined, and lets all buffers leave; others may join then. Returns the first failure, or null; a
    /// buffer whose bytes did not arrive is as before.
    std::exception_ptr carry_out() noexcept;
};

}  // namespace unibuf::detail
