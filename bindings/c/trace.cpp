// trace.cpp: what was copied and why; transfers that nobody asked for by name, and how many bytes may move.
#include <unibuf/guard.hpp>
#include <unibuf/trace.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

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

trace_detail detail_of(bool close) { return close ? trace_detail::close : trace_detail::events; }

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_trace_begin(const char* file, bool close) {
    return attempt([&] { unibuf::write_trace(&given(file, "the name of a file"), detail_of(close)); });
}

void unibuf_trace_end() { unibuf::stop_trace(); }

void unibuf_keep_events(size_t each_thread) { unibuf::keep_events(each_thread); }

unibuf_status unibuf_recorded_traffic(unibuf_traffic* sum) {
    return attempt([&] {
        unibuf_traffic& place = given(sum, "a place for the traffic");
        const unibuf::traffic found = unibuf::traffic_of(unibuf::recorded_events());
        place = {found.moved, found.least, found.declared, found.found, found.assumed};
    });
}

unibuf_status unibuf_why(const unibuf_buffer* buffer, const char** text) {
    static thread_local std::string told;
    return attempt([&] {
        const std::uint64_t id = bytes_of(buffer).id();
        const char*& place = given(text, "a place for the text");
        std::string lines;
        for (const std::string& each : unibuf::why(unibuf::recorded_events(), id)) lines += each + '\n';
        told = std::move(lines);
        place = told.c_str();
    });
}

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
