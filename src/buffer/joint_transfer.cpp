// buffer/joint_transfer.cpp
#include "buffer/joint_transfer.hpp"

#include <algorithm>
#include <exception>

#include "backends/spaces.hpp"
#include "buffer/core.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// Null where all went well. In any case nothing is under way any more.
std::exception_ptr carry_out_one(const joint_transfer::one_way& what) {
    if (what.moves.empty()) return nullptr;
    const bool to_host = what.like.to == coherence::host;
    const auto way = to_host ? backends::direction::to_host : backends::direction::to_device;
    backends::device& by = backends::device_of(space::from_id(to_host ? what.like.from : what.like.to));
    std::vector<fence> done;
    std::exception_ptr failure;
    try {
        by.move_many(way, what.moves, done);
    } catch (const error&) {
        failure = std::current_exception();
    }
    for (const fence& each : done) {
        try {
            each.wait();
        } catch (const error&) {
            if (!failure) failure = std::current_exception();
        }
    }
    return failure;
}

}  // namespace

joint_transfer::one_way& joint_transfer::way_of(const coherence::step& like) {
    const auto found = std::ranges::find_if(ways, [&](const one_way& each) { return each.like.is_like(like); });
    return found != ways.end() ? *found : ways.emplace_back(one_way{like, {}, {}});
}

void joint_transfer::carry_out() {
    std::exception_ptr failure;
    for (const one_way& each : ways) {
        const std::exception_ptr failed = carry_out_one(each);
        time.end = std::chrono::steady_clock::now();
        std::span<const backends::move_of> moves = each.moves;
        for (const member& one : each.members) {
            one.of->leave(one.claim, each.like, failed ? moves.first(0) : moves.first(one.moves), time);
            moves = moves.subspan(one.moves);
        }
        if (!failure) failure = failed;
    }
    for (one_way& each : ways) {
        each.moves.clear();
        each.members.clear();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace unibuf::detail
