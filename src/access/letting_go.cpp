// access/letting_go.cpp: asks holders of views to let go of what others need, never under a lock.
#include "access/letting_go.hpp"

#include <atomic>
#include <tuple>
#include <utility>
#include <vector>

#include "access/within.hpp"
#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

using call = within<struct asking_holders, holder>;

/// Returns whether this thread is in a call to the holder, which would be asked again and again where it needs memory.
bool is_being_asked(const holder& who) noexcept {
    return call::any([&](const holder& each) { return each.let_go == who.let_go && each.context == who.context; });
}

constinit std::atomic<bool> any_was_named = false;

}  // namespace

void name_holder(core& of, space where, holder who, view_tag& tag) {
    holder gone;  // is destroyed after the lock
    any_was_named = true;
    lock locked(of);
    const std::uint64_t added = who.let_go ? locked->holds.add_holder({&view_of(tag), where, std::move(who)}) : 0;
    gone = locked->holds.remove_holder(std::exchange(tag.holder, added));
}

void ask_to_let_go(lock& locked, space where, const region& part) {
    // One is looked for after the other: what one does when it is asked may end the views of others. Those who are
    // named meanwhile are not asked.
    const std::uint64_t last = locked->holds.last_holder();
    std::uint64_t ticket = 0;
    holder who;
    const auto find_next = [&] {
        std::tie(ticket, who) = locked->holds.holder_after(ticket, where, part);
        return ticket != 0 && ticket <= last;
    };
    if (!find_next()) return;
    ++locked->waiting;  // keeps the gate shut
    do {
        {
            const lock::released unlocked(locked);
            if (!is_being_asked(who)) {
                const call now(who);
                who.let_go(who.context.get());
            }
            const holder none;
            const call ending(none);
            who = {};  // destroys the context where this was its last owner
        }
    } while (find_next());
    --locked->waiting;
}

void ask_writers_of_host(lock& locked, space where, const region& part) {
    if (locked->any_exposed && !backends::is_host(where)) ask_to_let_go(locked, host, part);
}

void ask_before_joining(core& of, space where, const region& part) {
    if (!any_was_named.load(std::memory_order_relaxed)) return;
    lock locked(of);
    ask_writers_of_host(locked, where, part);
}

void ask_all_to_let_go(lock& locked) {
    if (!locked->holds.any_holder()) return;
    std::vector<space> everywhere;
    for (const copy& each : locked->copies) everywhere.push_back(space::from_id(each.where));
    for (const space where : everywhere) ask_to_let_go(locked, where, locked->whole());
}

bool is_asking() noexcept { return call::any(); }

}  // namespace unibuf::detail
