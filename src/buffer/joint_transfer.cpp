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
    return {failure.code(),
            fmt::format("{} and {} others: to synchronize {} was asked for: {}", what.members.front().of->name(),
                        what.members.size() - 1, space::from_id(what.like.to).name(), failure.what())};
}

/// Throws where something failed. In any case nothing is under way any more.
void move_all(const joint_transfer::one_way& what) {
    const bool to_host = what.like.to == coherence::host;
    const auto way = to_host ? backends::direction::to_host : backends::direction::to_device;
    backends::device& by = backends::device_of(space::from_id(to_host ? what.like.from : what.like.to));
    std::vector<fence> done;
    std::exception_ptr failure;
    const auto attempt = [&](const auto& call) {
        try {
            call();
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
    };
    attempt([&] { by.move_many(way, what.moves, done); });
    for (const fence& each : done) attempt([&] { each.wait(); });
    if (failure) std::rethrow_exception(failure);
}

}  // namespace

joint_transfer::one_way& joint_transfer::way_of(const coherence::step& like) {
    const auto found = std::ranges::find_if(ways, [&](const one_way& each) { return each.like.is_like(like); });
    return found != ways.end() ? *found : ways.emplace_back(one_way{like, {}, {}});
}

std::exception_ptr joint_transfer::carry_out() noexcept {
    std::exception_ptr failure;
    for (one_way& each : ways) {
        if (each.members.empty()) continue;
        bool moved = false;
        try {
            begin = std::chrono::steady_clock::now();
            move_all(each);
            moved = true;
        } catch (const error& thrown) {
            if (!failure) failure = std::make_exception_ptr(of_all(each, thrown));
        } catch (...) {
            if (!failure) failure = std::current_exception();
        }
        std::span<const backends::move_of> moves = each.moves;
        for (const member& one : each.members) {
            one.of->leave(one.claim, each.like, moves.first(moved ? one.moves : 0), begin);
            moves = moves.subspan(one.moves);
        }
        each.moves.clear();
        each.members.clear();
    }
    return failure;
}

}  // namespace unibuf::detail
