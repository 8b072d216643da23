// buffer/letting_go.cpp
#include "buffer/letting_go.hpp"

#include <atomic>
#include <utility>
#include <vector>

#include "backends/spaces.hpp"

namespace unibuf::detail {
namespace {

thread_local constinit unsigned asking = 0;  // number of calls to holders that this thread is in
constinit std::atomic<bool> any_was_named = false;

}  // namespace

void name_holder(core& of, named_holder who, std::uint64_t& known) {
    holder gone;  // is destroyed after the lock
    any_was_named = true;
    lock through(of);
    const std::uint64_t added = who.who.let_go ? through->holds.add_holder(std::move(who)) : 0;
    gone = through->holds.remove_holder(std::exchange(known, added));
}

void ask_to_let_go(lock& through, space where, byte_range range) {
    std::vector<holder> all = through->holds.holders_of(where, range);
    if (all.empty()) return;
    ++through->waiting;  // keeps the gate shut
    {
        const lock::released unlocked(through);
        ++asking;
        for (const holder& each : all) each.let_go(each.context.get());
        all.clear();  // destroys a context where this was its last owner
        --asking;
    }
    --through->waiting;
}

void ask_writers_of_host(lock& through, space where, byte_range range) {
    if (through->any_exposed && !backends::is_host(where)) ask_to_let_go(through, host, range);
}

void ask_before_joining(core& of, space where, byte_range range) {
    if (!any_was_named.load(std::memory_order_relaxed)) return;
    lock through(of);
    ask_writers_of_host(through, where, range);
}

void ask_all_to_let_go(lock& through) {
    if (!through->holds.any_holder()) return;
    std::vector<space> everywhere;
    for (const copy& each : through->copies) everywhere.push_back(space::from_id(each.where));
    for (const space where : everywhere) ask_to_let_go(through, where, through->whole());
}

bool is_asking() noexcept { return asking != 0; }

}  // namespace unibuf::detail
