// buffer/lease_together.cpp: several leases in one call; where one is refused, nothing has moved.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "buffer/claim.hpp"
#include "buffer/hold_waits.hpp"
#include "buffer/leases.hpp"
#include "buffer/letting_go.hpp"
#include "buffer/passage.hpp"
#include "buffer/standing.hpp"
#include "unibuf/buffer.hpp"

namespace unibuf::detail {
namespace {

/// Throws error(access_conflict) where two requests exclude each other.
void check_apart(const core& of, const request& one, const request& other) {
    const hold first{.part = one.part, .where = one.where, .what = one.what};
    if (!first.excludes(other.part, other.what)) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: {} and {} were asked for together, and exclude each other", of.name(), describe(one),
                            describe(other)));
}

/// Throws error(access_conflict) where a lease of this thread excludes the request, graphs upload the bytes, or these
/// are contested, and error(transfer_failed) where they are lost.
void check_before_lease(core& of, const request& asked) {
    check_allowed(of, asked);
    lock through(of);
    check_not_uploaded(through, asked);
    const hold other = through->holds.excluding(asked.part, asked.what, this_thread());
    if (other.thread != 0) return check_not_own(through, asked, other);
    if (through->any_exposed) find_host_writes(through, asked);
    if (asked.what == access::write) return;
    check_not_lost(through, asked);
    check_not_contested(through, asked);
}

/// Keeps the bytes of a request that will be granted soon from standing holds elsewhere.
class quiet_bytes {
public:
    /// Waits until others have let go of the bytes, and makes them quiet. Throws as the access would.
    quiet_bytes(core& of, const request& asked) : of_(of), where_(asked.where), part_(asked.part) {
        lock through(of);
        if (!through->holds.any_standing()) return;
        wait_for_holds(through, asked);
        claim keep(through);
        pause_elsewhere(through, asked, keep);
        shown_ = pause_for_view(through, where_, part_);
    }
    ~quiet_bytes() {
        if (shown_ == 0) return;
        lock through(of_);
        end_pause_of_view(through, where_, part_.hull(), shown_, !part_.is_range());
    }
    quiet_bytes(const quiet_bytes&) = delete;
    quiet_bytes& operator=(const quiet_bytes&) = delete;

private:
    core& of_;
    space where_;
    region part_;
    std::uint64_t shown_ = 0;
};

/// One of the leases that are wanted together.
struct member {
    core* of;
    request asked;
    byte_lease* taken;
};

/// Returns whether two leases of one buffer are wanted, of which one is of a rectangle.
bool may_close_circles(std::span<const member> all) {
    const auto is_one_of_two = [&](const member& each) {
        return !each.asked.part.is_range() && std::ranges::count(all, each.of, &member::of) > 1;
    };
    return std::ranges::any_of(all, is_one_of_two);
}

/// Ends the leases that have been taken.
void end_all(std::span<const member> all) noexcept {
    for (const member& each : all) each.taken->end();
}

/// Takes the leases; where it throws, some are held. All threads go through buffers, and through ranges of one buffer,
/// in the same order, so no circle of threads closes that wait for each other. There is no such order of rectangles:
/// where some are among several leases of a buffer, nobody waits while he holds another lease.
void take_all(std::span<const member> all) {
    if (!may_close_circles(all)) {
        for (const member& each : all) *each.taken = take_lease(*each.of, each.asked);
        return;
    }
    const member* first = &all.front();
    const auto take_all_but_first = [&]() -> const member* {
        for (const member& each : all) {
            if (&each == first) continue;
            request at_once = each.asked;
            at_once.waits_for_holds = false;
            try {
                *each.taken = take_lease(*each.of, at_once);
            } catch (const error& refused) {
                if (refused.code() != error_code::timeout) throw;
                end_all(all);
                return &each;
            }
        }
        return nullptr;
    };
    while (first) {
        *first->taken = take_lease(*first->of, first->asked);
        first = take_all_but_first();
    }
}

}  // namespace

}  // namespace unibuf::detail

namespace unibuf {

void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken) {
    lease_together(wanted, taken, [] {});
}

void lease_together(std::span<const wanted_byte_lease> wanted, std::span<byte_lease> taken,
                    const std::function<void()>& start) {
    std::vector<detail::member> members;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const auto& [of, where, what, options] = wanted[i];
        members.push_back({&detail::core_of(of->gate_), of->request_of(where, what, options), &taken[i]});
        members.back().asked.begins_later = true;
        members.back().asked.asks_holders = false;
    }
    std::ranges::sort(members, {},
                      [](const detail::member& each) { return std::pair(each.of->id(), each.asked.part.begin()); });
    for (auto each = members.begin(); each != members.end(); ++each) {
        for (auto next = std::next(each); next != members.end() && next->of == each->of; ++next) {
            if (next->asked.part.begin() >= each->asked.part.end()) break;
            detail::check_apart(*each->of, each->asked, next->asked);
        }
    }
    for (const detail::member& each : members) detail::check_before_lease(*each.of, each.asked);
    // Views end, and the bytes are made quiet, before the first lease is taken: a holder who is asked may wait for a
    // thread that wants one of these leases.
    for (const detail::member& each : members)
        detail::ask_before_joining(*each.of, each.asked.where, each.asked.part.hull());
    std::deque<detail::quiet_bytes> quiet;
    for (const detail::member& each : members) quiet.emplace_back(*each.of, each.asked);
    try {
        detail::take_all(members);
        std::deque<detail::written_later> written;
        for (const detail::member& each : members) written.emplace_back(*each.of, each.asked);
        for (detail::written_later& each : written) each.leave();
        start();
        for (detail::written_later& each : written) each.begin();
    } catch (...) {
        detail::end_all(members);
        throw;
    }
}

}  // namespace unibuf
