// buffer/work_list.hpp: device work on one buffer that may still be under way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coherence/plan.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::detail {

struct work {
    fence done;
    queue on;                // the queue that the work is on; where none was named, it may be any of the device's
    bool transfer = false;   // a transfer of unibuf's own: where it fails, what it wrote is not current
    bool unordered = false;  // an event of the program's own, which may come before or after any other
    std::uint32_t thread = this_thread();  // the thread that queued the work: a queue may be one for each thread
};

/// The queued work of one buffer. Not thread-safe: the buffer's lock guards it.
class work_list {
public:
    bool empty() const noexcept { return !lists_ || lists_->ranges.empty(); }

    /// Returns what coherence needs to know of the work.
    std::span<const coherence::queued_work> ranges() const noexcept {
        return lists_ ? std::span<const coherence::queued_work>(lists_->ranges)
                      : std::span<const coherence::queued_work>();
    }

    /// Makes room, so that so many calls of `add` do not throw.
    void reserve(std::size_t more);

    /// Adds work. Older work that cannot be done later than this is forgotten.
    void add(const coherence::queued_work& queued, work added);

    /// Returns the work `ticket`, or null where it is done and forgotten.
    const work* find(std::uint64_t ticket) const noexcept;
    void remove(std::uint64_t ticket) noexcept;
    void remove_all_of(const fence& done) noexcept;

    /// Forgets work that is done. Work that has failed stays, for an access that it matters to.
    void forget_done() noexcept;

private:
    /// The entries of `ranges` and `works` with one index belong together.
    struct lists {
        std::vector<coherence::queued_work> ranges;
        std::vector<work> works;
        std::uint64_t last = 0;
    };

    void remove_at(std::size_t index) noexcept;

    std::unique_ptr<lists> lists_;  // null in a buffer that has never queued work
};

}  // namespace unibuf::detail
