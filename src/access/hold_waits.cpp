// access/hold_waits.cpp: waiting for the leases and the claims of other threads.
#include "access/hold_waits.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>

#include "access/letting_go.hpp"
#include "access/recording.hpp"
#include "buffer/wait_circle.hpp"
#include "trace/told.hpp"

namespace unibuf::detail {
namespace {

/// Returns whether writers wait for bytes that the reader asks for.
bool writers_wait_for(const guarded& state, const access_request& request) noexcept {
    return request.what == access::read && state.seldom && state.seldom->writers_in_line.any(request.part);
}

/// Lets writers that wait for bytes of the range go first, for a while. Returns whether the reader has waited. A reader
/// that holds a lease of this buffer does not wait, as the writers may be waiting for that lease.
bool let_writers_in(lock& locked, const access_request& request, clock::time_point& patient_until) {
    if (!writers_go_first(*locked, request)) return false;
    const clock::time_point now = clock::now();
    if (patient_until == clock::time_point{}) {
        const auto patience = readers_patience.load(std::memory_order_relaxed);
        const clock::time_point latest = request.hold_limit().until;
        patient_until = patience == forever ? latest : std::min(latest, now + patience);
    }
    if (now >= patient_until) return false;
    locked.wait_for_change({.until = patient_until, .by = request.waits.by});
    return true;
}

/// Prints a circle of threads that wait for each other, once for each wait.
class circle_finder {
public:
    void look(const guarded& state, const access_request& request, const hold& other) {
        wait_.reset();
        wait_.emplace(
            this_thread(), other.thread, &state,
            fmt::format("{}: {} was asked for, and there is {}", state.name(), describe(request), describe(other)));
        const std::string circle = told_ ? "" : wait_->circle();
        if (circle.empty()) return;
        told_ = true;
        std::fprintf(stderr, "unibuf: threads wait for each other: %s\n", circle.c_str());
    }

private:
    std::optional<waits_for> wait_;
    bool told_ = false;
};

}  // namespace

void check_not_own(const guarded& state, const access_request& request, const hold& other) {
    if (other.thread != this_thread()) return;
    if (other.ended) {
        throw error(
            error_code::access_conflict,
            fmt::format("{}: {} was asked for by the function that a lease_together calls, and that has ended {}: "
                        "others have its bytes when the function has returned",
                        state.name(), describe(request), describe(other)));
    }
    throw error(error_code::access_conflict,
                fmt::format("{}: {} was asked for while the same thread holds {}: end that one first{}", state.name(),
                            describe(request), describe(other), trace::place_of_lease(state.id, other.taken_at)));
}

void check_not_own(core& of, const access_request& request) {
    lock locked(of);
    const hold other = locked->holds.excluding(request.part, request.what, this_thread());
    if (other.thread != 0) check_not_own(*locked, request, other);
}

bool writers_go_first(const guarded& state, const access_request& request) noexcept {
    return writers_wait_for(state, request) && !state.holds.of_this_thread();
}

void wait_for_holds(lock& locked, const access_request& request) {
    if (!locked->holds.any() && !writers_wait_for(*locked, request)) return;
    std::optional<waiting_writers::entry> in_line;
    clock::time_point patient_until{};
    hold other;
    std::uint64_t begun = 0;
    [[maybe_unused]] circle_finder circles;
    const auto free = [&] {
        do {
            other = locked->holds.excluding(request.part, request.what, this_thread(), request.joint);
        } while (other.thread == 0 && let_writers_in(locked, request, patient_until));
        if (other.thread == 0) return true;
        check_not_own(*locked, request, other);
        if (begun == 0) begun = trace::now();
        if (request.what != access::read && !in_line) {
            seldom_used& seldom = locked->with_seldom_used();
            in_line.emplace(seldom.writers_in_line, request.part, seldom.changed);
        }
#ifndef NDEBUG
        circles.look(*locked, request, other);
#endif
        return false;
    };
    locked.wait_until(free, request.hold_limit(), [&] {
        return fmt::format("{}: {} was asked for, but another thread kept {} for all of the time that was given",
                           locked.of().name(), describe(request), describe(other));
    });
    record_wait(*locked, request, begun);
}

}  // namespace unibuf::detail
