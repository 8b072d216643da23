// buffer/joint_transfer.cpp
#include "buffer/joint_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "backends/spaces.hpp"
#include "buffer/core.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// A backend does not know of which buffers it failed.
error of_all(const joint_transfer::one_way& what, const error& failure) {
    const space to = space::from_id(what.like.to);
    return {failure.code(),
            fmt::format("{} and {} others: to synchronize {} was asked for: {}", what.members.front().of->name(),
                        what.members.size() - 1, to.name(), failure.what())};
}

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
    } catch (const error& thrown) {
        failure = std::make_exception_ptr(of_all(what, thrown));
    }
    for (const fence& each : done) {
        try {
            each.wait();
        } catch (const error& thrown) {
            if (!failure) failure = std::make_exception_ptr(of_all(what, thrown));
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
