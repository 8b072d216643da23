// guard.cpp: transfers that nobody asked for by name, and how many bytes may move.
#include <unibuf/guard.hpp>

#include <optional>

#include "convert.hpp"
#include "handles.hpp"

struct unibuf_guard {
    unibuf::transfer_guard held;
};

struct unibuf_budget {
    unibuf::transfer_budget counted;
};

namespace unibuf::c {
namespace {

static_assert(UNIBUF_GUARD_ALLOW == static_cast<int>(guard_action::allow) &&
              UNIBUF_GUARD_LOG == static_cast<int>(guard_action::log) &&
              UNIBUF_GUARD_REFUSE == static_cast<int>(guard_action::refuse));

guard_action action_of(unibuf_guard_action action) {
    if (action < UNIBUF_GUARD_ALLOW || action > UNIBUF_GUARD_REFUSE) {
        throw error(error_code::invalid_argument,
                    "a guard's action is UNIBUF_GUARD_ALLOW, UNIBUF_GUARD_LOG or UNIBUF_GUARD_REFUSE");
    }
    return static_cast<guard_action>(action);
}

transfer_link link_of(unibuf_space from, unibuf_space to) {
    const auto given = [](unibuf_space where) {
        return where == UNIBUF_NO_SPACE ? std::nullopt : std::optional(space_of(where));
    };
    return {.from = given(from), .to = given(to)};
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_guard_begin(unibuf_guard_action action, unibuf_space from, unibuf_space to, unibuf_guard** guard) {
    return attempt([&] {
        unibuf_guard*& place = given(guard, "a place for the guard");
        place = new unibuf_guard{unibuf::transfer_guard(action_of(action), link_of(from, to))};
    });
}

void unibuf_guard_end(unibuf_guard* guard) { delete guard; }

unibuf_status unibuf_budget_begin(uint64_t bytes, unibuf_space from, unibuf_space to, unibuf_budget** budget) {
    return attempt([&] {
        unibuf_budget*& place = given(budget, "a place for the budget");
        place = new unibuf_budget{unibuf::transfer_budget(bytes, link_of(from, to))};
    });
}

unibuf_status unibuf_budget_check(const unibuf_budget* budget, uint64_t* moved) {
    return attempt([&] {
        const unibuf::transfer_budget& counted = given(budget, "a budget").counted;
        if (moved) *moved = counted.moved();
        counted.check();
    });
}

void unibuf_budget_end(unibuf_budget* budget) { delete budget; }
