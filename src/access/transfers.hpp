// access/transfers.hpp: carries out what the coherence core asks for, for one access.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "access/access_request.hpp"
#include "access/claim.hpp"
#include "access/lock.hpp"
#include "buffer/sent_images.hpp"
#include "coherence/plan.hpp"
#include "containers/few.hpp"

namespace unibuf::detail {

/// Carries out the steps of one access. Once it has a claim, that keeps others off its bytes as long as this exists.
/// All functions are called with the lock held; run() and fill() let go of it while bytes move.
class transfers {
public:
    transfers(lock& locked, const access_request& request) noexcept
        : lock_(locked), request_(request), claim_(*locked) {}

    /// Carries out all steps. Where it throws, the directory tells what was done until then. REQUIRES: the directory
    /// has promised to note the steps, unless all are waits.
    void run(std::span<const coherence::step> planned, promise* in);

    /// Repeats `pattern` over the bytes of the access, at its space. Where that fails, and others have the content,
    /// nobody relies on what it has left.
    void fill(std::span<const std::byte> pattern, const promise& in);

    /// Returns when the first step was begun, in nanoseconds of steady_clock; 0 where none was.
    std::uint64_t begun() const noexcept {
        return static_cast<std::uint64_t>(begun_.time_since_epoch() / std::chrono::nanoseconds(1));
    }

    void claim(const region& part) { claim_.take(part, request_); }
    detail::claim& own_claim() noexcept { return claim_; }

private:
    using time_point = std::chrono::steady_clock::time_point;
    static constexpr std::size_t all_at_once = SIZE_MAX;

    /// An access that the program may interrupt asks whether to go on after so many bytes.
    static constexpr std::size_t bytes_between_looks = std::size_t{64} << 20;

    struct in_flight {
        coherence::step step;
        fence done;
        std::optional<host_writes::own_write> own_write;
    };

    bool is_waited_for(const coherence::step& move) const;
    bool find_executor(std::span<const coherence::step> planned);
    void run_all(std::span<const coherence::step> planned);
    void carry_out(std::span<const coherence::step> planned);
    void start(std::span<const coherence::step> group, time_point begin);
    void start_moves(std::span<const coherence::step> group, time_point begin);
    void leave_queued();
    void finish_started();
    void finish_timed(coherence::space_id device, time_point begin);
    void keep_queued(const coherence::step& step, const fence& done);
    void wait(const coherence::step& before);
    bool order_behind(const coherence::step& before, const work& awaited);

    fence publish(const coherence::step& step);
    fence zero(const coherence::step& step);
    fence fill_part(const copy& at, const region& part, std::span<const std::byte> pattern);
    std::optional<host_writes::own_write> own_write_of(const region& part, coherence::space_id to);
    void add_parts_to_move(std::span<const coherence::step> group, part_list& to);

    lock& lock_;
    const access_request& request_;
    detail::claim claim_;
    time_point begun_{};                 // when the first step was begun
    std::size_t at_once_ = all_at_once;  // no more bytes are under way together
    bool times_ = false;                 // contents are compared by digest, where that costs less than to send them
    bool returns_early_ = false;         // steps that are started become queued work, and nobody waits for them
    promise* promise_ = nullptr;         // of the directory, to note the steps
    coherence::space_id executor_ =
        coherence::host;                           // where `returns_early_`, the one device that carries out all steps
    coherence::space_id mover_ = coherence::host;  // the one device that moves all bytes
    few<work_list::ticket, 2> ordered_;            // work that the moves were put behind: it is done when they are
    few<in_flight, 2> started_;
};

}  // namespace unibuf::detail
