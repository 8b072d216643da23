// access/copy_making.cpp: makes copies, with the lock let go.
#include "access/copy_making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "access/passage.hpp"
#include "access/poison.hpp"
#include "access/recording.hpp"
#include "access/within.hpp"
#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

/// Waits until no other thread moves bytes or frees a copy: the claims that it does so under keep nobody from an access
/// of no bytes. Returns whether it had to wait.
bool wait_for_claims_of_others(lock& locked, const access_request& request) {
    const auto none = [&] { return !locked->holds.claimed_by_others(this_thread()); };
    if (!request.part.empty() || none()) return false;
    locked.wait_until(none, request.hold_limit(), [&] {
        return fmt::format("{}: {} was asked for, but another thread moved bytes for all of the given time",
                           locked.of().name(), describe(request));
    });
    return true;
}

/// Code that is called while this thread makes a copy, as holders of views, events of the program's own and observers
/// are where others have to go, would wait for itself.
using making = within<struct making_a_copy, core>;

/// Returns whether the copy is one of the heap, where that is not said to take any time: to look at the clock takes as
/// long.
bool takes_no_time(const copies& its_copies, space where) {
    return where == host && its_copies.bytes() <= tracking::most_compared() && !its_copies.options().pinned;
}

/// Returns the copies that `prepare` makes for `where` without the lock.
template <class Prepare>
copy_list made_unlocked(lock& locked, space where, std::uint64_t& begun, const Prepare& prepare) {
    const auto text = [&] { return fmt::format("{}: a copy at {} was asked for", locked.of().name(), where.name()); };
    locked->making_copy = true;
    ++locked->waiting;  // keeps the gate shut
    copy_list made;
    std::exception_ptr failure;
    const copies& its_copies = locked->copies;  // no copy is added or freed while `making_copy` is set
    begun = trace::is_on() && !takes_no_time(its_copies, where) ? trace::now() : 0;
    {
        const lock::released unlocked(locked);
        const making now(locked.of());
        try {
            made = prepare(its_copies);
        } catch (...) {
            failure = std::current_exception();
        }
    }
    --locked->waiting;
    if (locked->writes()) locked->writes()->end_pinning();
    locked->making_copy = false;
    locked->tell_waiting();
    try {
        if (failure) std::rethrow_exception(failure);
    } catch (const error& thrown) {
        throw error(thrown.code(), fmt::format("{}: {}", text(), thrown.message()));
    } catch (const std::bad_alloc&) {
        throw error(error_code::out_of_memory, fmt::format("{}: the host has no memory for bookkeeping", text()));
    }
    return made;
}

}  // namespace

bool wait_for_maker(lock& locked, const access_request& request) {
    if (!locked->making_copy) return false;
    if (making::is_at(locked.of())) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for by code that is called while the same thread makes a copy of the "
                                "buffer: wait until that has ended",
                                locked.of().name(), describe(request)));
    }
    locked.wait_until([&] { return !locked->making_copy; }, request.hold_limit(),
                      [&] {
                          return fmt::format(
                              "{}: {} was asked for, but another thread was making a copy for all of the given time",
                              locked.of().name(), describe(request));
                      });
    return true;
}

bool make_copy(lock& locked, const access_request& request) {
    if (locked->copies.find(request.where.id())) return false;
    if (!request.makes_copy) check_allocated(*locked, nullptr, request.where, "an access among several");
    if (wait_for_maker(locked, request) || wait_for_claims_of_others(locked, request)) return true;
    core& of = locked.of();
    if (!locked->resident && !backends::is_host(request.where)) {
        locked->among_residents = residents::instance().add(of);
        locked->resident = true;
    }
    if (locked->writes() && locked->copies.may_pin_host(request.where.id())) locked->writes()->begin_pinning();
    std::uint64_t begun = 0;
    copy_list made = made_unlocked(locked, request.where, begun, [&](const copies& its_copies) {
        // A joint request does not wait for holds, but it may wait for memory.
        return its_copies.prepare(request.where.id(), of, request.joint ? request.waits : request.hold_limit());
    });
    locked.recorded = record_allocations(*locked, made, begun);
    const bool has_host =
        std::ranges::any_of(made.copies, [](const copy& each) { return each.where == coherence::host; });
    locked->copies.add(std::move(made));
    if (has_host) poison_new_host(*locked);
    return true;
}

void end_lending(lock& locked, const access_request& request, const std::function<void()>& check) {
    const access_request at_host{.part = request.part, .where = host, .what = access::read};
    while (wait_for_maker(locked, request)) {
    }
    std::uint64_t begun = 0;
    copy_list made = made_unlocked(locked, host, begun, [&](const copies& its_copies) {
        return its_copies.prepare_own_host(locked.of(), request.hold_limit());
    });
    try {
        wait_for_all_work(locked, locked->room(), at_host);
        check();
        if (locked->any_exposed) find_host_writes(locked, at_host);
        check_not_contested(*locked, request);
        const std::byte* const lent = locked->copies.find(coherence::host)->memory->host_address();
        std::byte* const own = made.copies.front().memory->host_address();
        {
            const lock::released unlocked(locked);
            std::memcpy(own, lent, request.part.size());
        }
        check();  // somebody may have begun to hold it
        if (locked->copies.find(request.where.id())) drop_copy(*locked, request.where, locked.recorded);
    } catch (...) {
        locked->copies.uncount(made);
        throw;
    }
    made.copies.front().untouched = false;
    record_release(*locked, *locked->copies.find(coherence::host), locked.recorded);
    record_allocations(*locked, made, begun);
    if (locked->seldom) locked->seldom->writes.reset();
    locked->any_exposed = false;
    locked->copies.replace_host(std::move(made));
}

void drop_copy(guarded& state, space where, trace::moment& of_call) {
    coherence::drop(state.directory, state.whole(), where.id());
    if (where == host && state.seldom) {
        state.seldom->writes.reset();
        state.any_exposed = false;
    }
    state.holds.end_handles(where.id(), state.whole());
    record_release(state, *state.copies.find(where.id()), of_call);
    state.copies.free(where.id());
}

}  // namespace unibuf::detail
