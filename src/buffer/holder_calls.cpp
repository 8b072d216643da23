// buffer/holder_calls.cpp
#include "buffer/holder_calls.hpp"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

namespace unibuf::detail {
namespace {

/// Calls the holder without the lock; somebody has a claim on the bytes, or the hold is his own. The hold may end
/// meanwhile: what the holder gave is kept until it has returned, and goes without the lock, too.
void call(lock& through, std::shared_ptr<const standing_options> how, std::function<void()> standing_options::* of) {
    if (!((*how).*of)) return;
    struct counted {
        lock& through;
        explicit counted(lock& of) : through(of) { ++through->waiting; }
        ~counted() { --through->waiting; }
    };
    const counted keeps_the_gate_shut(through);
    const lock::pause unlocked(through);
    const auto kept = std::move(how);
    ((*kept).*of)();
}

/// The same for a hold that nobody else calls meanwhile. Afterwards it has paused, or not, unless the call throws.
void call_alone(lock& through, std::uint64_t ticket, std::function<void()> standing_options::* of, bool pauses) {
    const auto done = [&](bool paused) {
        if (standing* const now = through->holds.find_standing(ticket)) {
            now->being_called = false;
            now->told_to_pause = paused;
        }
        through->tell_waiting();
    };
    standing& held = *through->holds.find_standing(ticket);
    held.being_called = true;
    try {
        call(through, held.how, of);
    } catch (...) {
        done(false);
        throw;
    }
    done(pauses);
}

}  // namespace

void ask_to_pause(lock& through, std::uint64_t ticket, const request& asked, claim& keep) {
    if (!through->holds.find_standing(ticket)->how->pause) return;
    const auto is_called = [&] {
        const standing* const now = through->holds.find_standing(ticket);
        return now && now->being_called;
    };
    if (is_called()) keep.take(asked.range, asked);
    through.wait_until([&] { return !is_called(); }, asked.hold_deadline(),
                       [&] {
                           return fmt::format(
                               "{}: {} was asked for, and a standing hold has not paused in all of the given time",
                               through.of().name(), describe(asked));
                       });
    const standing* const held = through->holds.find_standing(ticket);
    if (!held || held->told_to_pause) return;
    keep.take(asked.range, asked);
    call_alone(through, ticket, &standing_options::pause, true);
}

void tell_to_resume(lock& through, std::uint64_t ticket) {
    call_alone(through, ticket, &standing_options::resume, false);
}

}  // namespace unibuf::detail
