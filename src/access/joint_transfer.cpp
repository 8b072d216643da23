// access/joint_transfer.cpp: how accesses join a transfer, and leave it.
#include "access/joint_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "access/counts.hpp"
#include "access/passage.hpp"
#include "access/recording.hpp"
#include "access/waits.hpp"
#include "backends/spaces.hpp"
#include "containers/first_failure.hpp"
#include "trace/tools.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

access_request sync_of(byte_range range, space where) {
    return {.part = range,
            .where = where,
            .why = cause::sync,
            .asks_holders = false,
            .waits_for_holds = false,
            .makes_copy = false};
}

/// Returns whether the access may have to wait for more than holds. The holder of a standing hold, who is told to pause
/// now, or to go on when the access lets go of its bytes, may want a buffer that has joined.
bool may_wait(const guarded& state, const access_request& request) {
    const auto calls = [](const standing& each) { return each.how->pause || each.how->resume; };
    if (std::ranges::any_of(state.holds.standing_holds(), calls) || state.peers()) return true;
    if (!state.copies.find(request.where.id()) || state.copies.borrower_among(request.where.id())) return true;
    if (!state.any_exposed) return false;
    // What arrives at the host is not to be taken for writes.
    return request.where == host || !work_in_host_memory(state, request).empty();
}

/// Returns whether the steps are moves between the host and one device.
bool are_moves_of_one_device(std::span<const coherence::step> steps) {
    return std::ranges::all_of(steps, [&](const coherence::step& each) {
        return each.does == coherence::step::kind::move && each.is_like(steps.front()) && each.part.is_range() &&
               (each.from == coherence::host || each.to == coherence::host);
    });
}

}  // namespace

joint_transfer::member::member(core& buffer, guarded& state, byte_range request, std::span<const coherence::step> steps)
    : of(&buffer), range(request), move_count(steps.size()), promised(state.directory, range) {
    for (const coherence::step& each : steps) promised.divide(each.part);
}

joint_transfer::~joint_transfer() {
    for (one_way& each : ways_) let_leave(each, false, {});
}

bool joint_transfer::join(core& of, space where, byte_range range) {
    const access_request request = sync_of(range, where);
    lock locked(of);
    locked->holds.work().forget_done(range, true);
    if (may_wait(*locked, request)) return false;
    std::optional<passage> way;
    try {
        way.emplace(locked, request);
    } catch (const error&) {  // it is refused again when the range is synced alone, which says why
        return false;
    }
    planned_.clear();
    way->plan(planned_);
    if (planned_.empty()) {
        note_access(locked, request, 0, 0);
        return true;
    }
    if (!are_moves_of_one_device(planned_)) return false;
    const coherence::step& first = planned_.front();
    backends::memory* const device = locked->copies.find(executor_of(first))->memory.get();
    std::byte* const address = locked->copies.find(coherence::host)->memory->host_address();
    const host_writes* const writes = first.from == coherence::host && locked->any_exposed ? locked->writes() : nullptr;
    const auto has_image = [&](const coherence::step& move) { return writes && writes->has_image(move.part.hull()); };
    const auto is_cut = [&](const coherence::step& move) {
        return move.part.size() > sent_images::most_in_one && has_image(move);
    };
    if (std::ranges::any_of(planned_, is_cut)) return false;
    way->keep_others_off();
    one_way& all = way_of(first);
    const std::size_t others = all.moves.size();
    try {
        for (const coherence::step& each : planned_) {
            std::span host(address + each.part.begin(), each.part.size());
            if (has_image(each)) {
                host = image_for(all, host.size());
                writes->copy_as_sent(each.part.hull(), host.data());
            }
            all.moves.push_back({device, each.part.begin(), host});
        }
        member& joined = all.members.emplace_back(of, *locked, range, planned_);
        joined.claim = way->own_claim().leave();
    } catch (...) {
        all.moves.resize(others);
        throw;
    }
    locked->copies.find(first.to)->untouched = false;
    return true;
}

/// Returns memory for an image. Many lie in one piece, as most are small.
std::span<std::byte> joint_transfer::image_for(one_way& all, std::size_t bytes) {
    constexpr std::size_t piece = std::size_t{256} << 10;
    static_assert(piece >= sent_images::most_in_one);
    if (all.images.empty() || all.images.back().capacity() - all.images.back().size() < bytes) {
        all.images.emplace_back().reserve(piece);
    }
    std::vector<std::byte>& in = all.images.back();
    in.resize(in.size() + bytes);
    return std::span(in).last(bytes);
}

joint_transfer::one_way& joint_transfer::way_of(const coherence::step& like) {
    const auto found = std::ranges::find_if(ways_, [&](const one_way& each) { return each.like.is_like(like); });
    return found != ways_.end() ? *found : ways_.emplace_back(like);
}

std::exception_ptr joint_transfer::carry_out() noexcept {
    first_failure failure;
    for (one_way& each : ways_) {
        if (each.members.empty()) continue;
        const time_point begin = std::chrono::steady_clock::now();
        bool arrived = false;
        try {
            move_all(each);
            arrived = true;
        } catch (...) {
            failure.keep(named(each, std::current_exception()));
        }
        let_leave(each, arrived, begin);
    }
    return failure.get();
}

/// Makes all the moves. Throws where one failed; nothing is under way any more then, either.
void joint_transfer::move_all(const one_way& what) {
    const bool to_host = what.like.to == coherence::host;
    const auto way = to_host ? backends::direction::to_host : backends::direction::to_device;
    backends::device& by = backends::device_of(space::from_id(executor_of(what.like)));
    backends::fences done;
    first_failure failure;
    std::uint64_t bytes = 0;
    for (const backends::move_of& each : what.moves) bytes += each.host.size();
    const trace::told_copy told(what.members.front().of->id(), space::from_id(what.like.from),
                                space::from_id(what.like.to), nullptr, nullptr, bytes);
    failure.attempt([&] {
        done.reserve(what.moves.size());
        by.move_many(way, what.moves, done);
    });
    for (const fence& each : done) failure.attempt([&] { each.wait(); });
    failure.rethrow();
}

/// Returns `failure` with the names of the buffers, which a backend does not know.
std::exception_ptr joint_transfer::named(const one_way& what, const std::exception_ptr& failure) noexcept {
    try {
        std::rethrow_exception(failure);
    } catch (const error& thrown) {
        try {
            const std::size_t others = what.members.size() - 1;
            const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
            return std::make_exception_ptr(error(
                thrown.code(), fmt::format("{}{}: to synchronize {} was asked for: {}", what.members.front().of->name(),
                                           more, space::from_id(what.like.to).name(), thrown.message())));
        } catch (...) {
            return std::current_exception();
        }
    } catch (...) {
        return failure;
    }
}

void joint_transfer::let_leave(one_way& all, bool arrived, time_point begin) noexcept {
    std::span<const backends::move_of> moves = all.moves;
    while (!all.members.empty()) {
        const std::size_t count = all.members.front().move_count;
        leave(all, moves.first(arrived ? count : 0), begin);
        moves = moves.subspan(count);
    }
    all.moves.clear();
    all.images.clear();
}

/// Ends the claim of the first access, of which `arrived` has been moved.
void joint_transfer::leave(one_way& all, std::span<const backends::move_of> arrived, time_point begin) noexcept {
    const member& one = all.members.front();
    const byte_range range = one.range;
    lock locked(*one.of);
    const claim own(*locked, one.claim);
    std::uint64_t bytes = 0;
    for (const backends::move_of& each : arrived) {
        const region part(byte_range{each.offset, each.offset + each.host.size()});
        coherence::complete(one.promised, locked->copies.memories(), all.like, part);
        count_transfers(locked, all.like, {&part, 1},
                        {.why = cause::sync, .begin = begin, .end = std::chrono::steady_clock::now(), .arrived = true});
        bytes += part.size();
    }
    all.members.pop_front();  // a promise ends under the lock
    if (bytes == 0) return;
    note_access(locked, sync_of(range, space::from_id(all.like.to)), bytes,
                static_cast<std::uint64_t>(begin.time_since_epoch().count()));
}

}  // namespace unibuf::detail
