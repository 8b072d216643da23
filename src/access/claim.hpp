// access/claim.hpp: what keeps others off bytes while an access has let go of the lock.
#pragma once

#include <cassert>
#include <utility>

#include "access/access_request.hpp"
#include "buffer/core.hpp"

namespace unibuf::detail {

/// A claim is taken and ended with the lock held. Once it is there, it covers what it was first asked for.
class claim {
public:
    /// A claim that is to be taken, or one that was left to others, for its end.
    explicit claim(guarded& state, std::uint64_t ticket = 0) noexcept : state_(state), ticket_(ticket) {}
    ~claim() { end(); }
    claim(const claim&) = delete;
    claim& operator=(const claim&) = delete;

    void take(const region& part, const access_request& request) {
        if (ticket_ != 0) return;
        ticket_ = state_.holds.add({.part = part,
                                    .thread = this_thread(),
                                    .where = request.where,
                                    .what = request.what,
                                    .claim = true,
                                    .joint = request.joint});
    }

    void end() noexcept {
        if (ticket_ == 0) return;
        state_.holds.remove(std::exchange(ticket_, 0));
        state_.tell_waiting();
    }

    std::uint64_t ticket() const noexcept { return ticket_; }

    /// Leaves it to whoever ends it by its ticket, which is returned.
    std::uint64_t leave() noexcept { return std::exchange(ticket_, 0); }

    /// Makes a lease of it, which ends with this, and lets others read meanwhile. REQUIRES: it was taken.
    void become_lease(const access_request& request) noexcept {
        assert(ticket_ != 0);
        state_.holds.grant(ticket_, request.on, 0);
    }

    /// Makes a lease of it, which stays, and returns its ticket. `taken_at` is that of the hold. REQUIRES: it was
    /// taken.
    std::uint64_t grant(const access_request& request, std::uint64_t taken_at) noexcept {
        assert(ticket_ != 0);
        state_.holds.grant(ticket_, request.on, taken_at);
        return leave();
    }

private:
    guarded& state_;
    std::uint64_t ticket_;
};

}  // namespace unibuf::detail
