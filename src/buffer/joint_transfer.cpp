// buffer/joint_transfer.cpp: how buffers join a transfer, and leave it.
#include "buffer/joint_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <new>

#include "backends/spaces.hpp"
#include "buffer/counts.hpp"
#include "buffer/passage.hpp"
#include "buffer/recording.hpp"
#include "buffer/waits.hpp"
#include "trace/tools.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// Returns `failure` with the names of the buffers, which a backend does not know.
std::exception_ptr named(const joint_transfer::one_way& what, const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const error& thrown) {
        try {
            return std::make_exception_ptr(error(
                thrown.code(),
                fmt::format("{} and {} others: to synchronize {} was asked for: {}", what.members.front().of->name(),
                            what.members.size() - 1, space::from_id(what.like.to).name(), thrown.message())));
        } catch (...) {
            return std::current_exception();
        }
    } catch (...) {
        return failure;
    }
}

/// Makes all the moves. Throws where one failed; nothing is under way any more then, either.
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
    std::uint64_t bytes = 0;
    for (const backends::move_of& each : what.moves) bytes += each.host.size();
    const trace::told_copy told(what.members.front().of->id(), space::from_id(what.like.from),
                                space::from_id(what.like.to), nullptr, nullptr, bytes);
    attempt([&] { by.move_many(way, what.moves, done); });
    for (const fence& each : done) attempt([&] { each.wait(); });
    if (failure) std::rethrow_exception(failure);
}

/// Ends the claim of a buffer, in which the bytes of `moved` have arrived.
void leave(core& of, std::uint64_t claim, const coherence::step& like, std::span<const backends::move_of> moved,
           clock::time_point begin) noexcept {
    lock through(of);
    through->holds.remove(claim);
    through->tell_waiting();
    if (moved.empty()) return;
    try {
        std::vector<region> parts;
        parts.reserve(moved.size());
        for (const backends::move_of& each : moved) {
            parts.emplace_back(byte_range{each.offset, each.offset + each.host.size()});
        }
        count_transfers(through, like, parts,
                        {.why = cause::sync, .begin = begin, .end = clock::now(), .arrived = true});
        coherence::complete(through->directory, through->copies.memories(), like, parts);
        note_access(through,
                    {.part = byte_range{parts.front().begin(), parts.back().hull().end},
                     .where = space::from_id(like.to),
                     .why = cause::sync},
                    bytes_in(parts), static_cast<std::uint64_t>(begin.time_since_epoch().count()));
    } catch (const std::bad_alloc&) {  // what cannot be noted is moved again
    }
}

}  // namespace

bool joint_transfer::join(core& of, space where, std::span<const byte_range> ranges) {
    const request asked{.part = byte_range{ranges.front().begin, ranges.back().end},
                        .where = where,
                        .what = access::read,
                        .why = cause::sync,
                        .asks_holders = false,
                        .waits_for_holds = false};
    lock through(of);
    // A holder that is asked to pause may wait for an access to a buffer that has joined already. And a claim covers
    // what lies between several ranges, which would be paused too.
    const bool disturbs = std::ranges::any_of(through->holds.standing_holds(), [&](const standing& each) {
        return each.where != where && each.part.overlaps(asked.part) && (each.how->pause || ranges.size() > 1);
    });
    const bool alone = disturbs || through->peers() || !through->copies.find(where.id()) ||
                       through->copies.borrower_among(where.id()) || through->any_lost ||
                       (through->any_exposed && where == host) ||  // what arrives is not to be taken for writes
                       through->holds.excluding(asked.part, asked.what, this_thread()).thread != 0;
    if (alone) return false;
    if (!through->holds.work().empty()) through->holds.work().forget_done();
    if (through->any_exposed && !work_in_host_memory(*through.operator->(), asked).empty()) return false;
    try {
        const passage way(through, asked);
    } catch (const error&) {  // the failure is told when the buffer is synced alone
        return false;
    }
    planned.clear();
    for (const byte_range& each : ranges) plan_for(*through.operator->(), asked, each, planned);
    if (planned.empty()) return true;
    const coherence::step& first = planned.front();
    for (const coherence::step& each : planned) {
        const bool by_one_device = each.from == coherence::host || each.to == coherence::host;
        if (each.does != coherence::step::kind::move || !each.is_like(first) || !by_one_device) return false;
        if (!each.part.is_range()) return false;
    }
    backends::memory* const device = through->copies.find(executor_of(first))->memory.get();
    std::byte* const address = through->copies.find(coherence::host)->memory->host_address();
    one_way& way = way_of(first);
    const std::size_t others = way.members.size();
    const std::size_t moves_of_others = way.moves.size();
    try {
        for (const coherence::step& each : planned) {
            way.moves.push_back({device, each.part.begin(), {address + each.part.begin(), each.part.size()}});
        }
        way.members.push_back({&of, 0, planned.size()});
        way.members.back().claim = through->holds.add(
            {.part = asked.part, .thread = this_thread(), .where = where, .what = asked.what, .claim = true});
    } catch (...) {
        way.moves.resize(moves_of_others);
        way.members.resize(others);
        throw;
    }
    through->copies.find(first.to)->untouched = false;
    return true;
}

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
        } catch (...) {
            if (!failure) failure = named(each, std::current_exception());
        }
        std::span<const backends::move_of> moves = each.moves;
        for (const member& one : each.members) {
            leave(*one.of, one.claim, each.like, moves.first(moved ? one.moves : 0), begin);
            moves = moves.subspan(one.moves);
        }
        each.moves.clear();
        each.members.clear();
    }
    return failure;
}

}  // namespace unibuf::detail
