// buffer/copy_making.cpp
#include "buffer/copy_making.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "backends/spaces.hpp"
#include "buffer/passage.hpp"
#include "buffer/poison.hpp"
#include "buffer/recording.hpp"
#include "buffer/verbs.hpp"
#include "buffer/within.hpp"

namespace unibuf::detail {
namespace {

/// Waits until no other thread moves bytes or frees a copy: the claims that it does so under keep nobody from an access
/// of no bytes. Returns whether it had to wait.
bool wait_for_claims_of_others(lock& through, const request& asked) {
    const auto none = [&] { return !through->holds.claimed_by_others(this_thread()); };
    if (!asked.part.empty() || none()) return false;
    through.wait_until(none, asked.hold_limit(), [&] {
        return fmt::format("{}: {} was asked for, but another thread moved bytes for all of the given time",
                           through.of().name(), describe(asked));
    });
    return true;
}

/// Code that is called while this thread makes a copy, as holders of views, events of the program's own and observers
/// are where others have to go, would wait for itself.
using making = within<struct making_a_copy, core>;

/// Returns whether the copy is one of the heap, where that is not said to take any time: to look at the clock takes as
/// long.
bool takes_no_time(const copies& there, space where) {
    return where == host && there.bytes() <= tracking::most_compared && !there.options().pinned;
}

/// Returns the copies that `prepare` makes for `where` without the lock.
template <class Prepare>
copy_list made_unlocked(lock& through, space where, std::uint64_t& begun, const Prepare& prepare) {
    const auto text = [&] { return fmt::format("{}: a copy at {} was asked for", through.of().name(), where.name()); };
    through->making_copy = true;
    ++through->waiting;  // keeps the gate shut
    copy_list made;
    std::exception_ptr failure;
    const copies& there = through->copies;  // no copy is added or freed while `making_copy` is set
    begun = trace::is_on() && !takes_no_time(there, where) ? trace::now() : 0;
    {
        const lock::released unlocked(through);
        const making now(through.of());
        try {
            made = prepare(there);
        } catch (...) {
            failure = std::current_exception();
        }
    }
    --through->waiting;
    if (through->writes()) through->writes()->end_pinning();
    through->making_copy = false;
    through->tell_waiting();
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

bool wait_for_maker(lock& through, const request& asked) {
    if (!through->making_copy) return false;
    if (making::is_at(through.of())) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for by code that is called while the same thread makes a copy of the "
                                "buffer: wait until that has ended",
                                through.of().name(), describe(asked)));
    }
    through.wait_until([&] { return !through->making_copy; }, asked.hold_limit(),
                       [&] {
                           return fmt::format(
                               "{}: {} was asked for, but another thread was making a copy for all of the given time",
                               through.of().name(), describe(asked));
                       });
    return true;
}

bool make_copy(lock& through, const request& asked) {
    if (through->copies.find(asked.where.id())) return false;
    if (!asked.makes_copy) check_allocated(*through, nullptr, asked.where, "an access among several");
    if (wait_for_maker(through, asked) || wait_for_claims_of_others(through, asked)) return true;
    core& of = through.of();
    if (!through->resident && !backends::is_host(asked.where)) {
        through->among_residents = residents::instance().add(of);
        through->resident = true;
    }
    if (through->writes() && through->copies.may_pin_host(asked.where.id())) through->writes()->begin_pinning();
    std::uint64_t begun = 0;
    copy_list made = made_unlocked(through, asked.where, begun, [&](const copies& there) {
        // A joint request does not wait for holds, but it may wait for memory.
        return there.prepare(asked.where.id(), of, asked.joint ? asked.waits : asked.hold_limit());
    });
    through.recorded = record_allocations(*through, made, begun);
    const bool has_host =
        std::ranges::any_of(made.copies, [](const copy& each) { return each.where == coherence::host; });
    through->copies.add(std::move(made));
    if (has_host) poison_new_host(*through);
    return true;
}

void end_lending(lock& through, const request& asked, const std::function<void()>& check) {
    const request at_host{.part = asked.part, .where = host, .what = access::read};
    while (wait_for_maker(through, asked)) {
    }
    std::uint64_t begun = 0;
    copy_list made = made_unlocked(through, host, begun, [&](const copies& there) {
        return there.prepare_own_host(through.of(), asked.hold_limit());
    });
    try {
        wait_for_all_work(through, through->room(), at_host);
        check();
        if (through->any_exposed) find_host_writes(through, at_host);
        check_not_contested(*through, asked);
        const std::byte* const lent = through->copies.find(coherence::host)->memory->host_address();
        std::byte* const own = made.copies.front().memory->host_address();
        {
            const lock::released unlocked(through);
            std::memcpy(own, lent, asked.part.size());
        }
        check();  // somebody may have begun to hold it
        if (through->copies.find(asked.where.id())) drop_copy(*through, asked.where);
    } catch (...) {
        through->copies.give_up(made);
        throw;
    }
    made.copies.front().untouched = false;
    record_release(*through, *through->copies.find(coherence::host));
    record_allocations(*through, made, begun);
    if (through->seldom) through->seldom->writes.reset();
    through->any_exposed = false;
    through->copies.replace_host(std::move(made));
}

}  // namespace unibuf::detail
