// access/joint_transfer.hpp: the moves of many accesses, as few calls of their devices.
//
// Each access has a passage, up to its plan. Where that is moves between the host and one device, the access joins: its
// claim and its promise stay while the lock of its buffer is let go of, all moves are made together, and each access is
// told which of its bytes have arrived.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <span>
#include <vector>

#include "access/access_request.hpp"
#include "access/lock.hpp"
#include "backends/backend.hpp"
#include "coherence/plan.hpp"

namespace unibuf::detail {

class joint_transfer {
public:
    joint_transfer() = default;
    ~joint_transfer();
    joint_transfer(const joint_transfer&) = delete;
    joint_transfer& operator=(const joint_transfer&) = delete;

    /// Lets a sync of `range` to `where` join. Returns false, and has moved nothing, where that takes more than moves
    /// between the host and one device, or may have to wait: nobody is waited for while other buffers are claimed, so
    /// such a range is synced alone. Throws std::bad_alloc.
    bool join(core& of, space where, byte_range range);

    /// Makes all the moves, after which others may join. Returns the first failure, or null. A buffer whose bytes did
    /// not arrive is as before.
    std::exception_ptr carry_out() noexcept;

private:
    /// An access that has joined.
    struct member {
        member(core& buffer, guarded& state, byte_range request, std::span<const coherence::step> steps);

        core* of;
        byte_range range;
        std::size_t move_count;
        std::uint64_t claim = 0;
        promise promised;
    };

    /// The moves between the host and one device, in one direction.
    struct one_way {
        coherence::step like;  // what each of the moves is, but for its range
        std::vector<backends::move_of> moves{};
        std::deque<std::vector<std::byte>> images{};  // of bytes that are not sent as they are: see sent_images.hpp
        std::deque<member> members{};                 // these stand in the order of the moves
    };

    using time_point = std::chrono::steady_clock::time_point;

    static std::span<std::byte> image_for(one_way& all, std::size_t bytes);
    one_way& way_of(const coherence::step& like);
    static void move_all(const one_way& what);
    static std::exception_ptr named(const one_way& what, const std::exception_ptr& failure) noexcept;
    static void let_leave(one_way& all, bool arrived, time_point begin) noexcept;
    static void leave(one_way& all, std::span<const backends::move_of> arrived, time_point begin) noexcept;

    std::list<one_way> ways_;
    coherence::steps planned_;  // for the access that joins now
};

}  // namespace unibuf::detail
