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
    queue on;                              // that it is on; where none was named, any of the device's
    bool transfer = false;                 // unibuf's own: where it fails, what it wrote is not current
    bool unordered = false;                // an event of the program's own, which may come before or after any other
    std::uint32_t thread = this_thread();  // that queued it: a queue may be one for each thread
};

/// Not thread-safe: the buffer's lock guards it.
class work_list {
public:
    bool empty() const noexcept { return !lists_ || lists_->ranges.empty(); }

    /// What the core needs to know of it.
    std::span<const coherence::queued_work> ranges() const noexcept {
        return lists_ ? std::span<const coherence::queued_work>(lists_->ranges)
                      : std::span<const coherence::queued_work>();
    }

    /// Makes room, so that as many calls of `add` do not throw.
    void reserve(std::size_t more);

    /// Adds work. Older work that cannot be done later than it is forgotten.
    void add(const coherence::queued_work& queued, work added);

    /// The work `ticket`, or null where it is done and forgotten.
    const work* find(std::uint64_t ticket) const noexcept;
    void remove(std::uint64_t ticket) noexcept;
    void remove_all_of(const fence& done) noexcept;

    /// Forgets what is done. Work that has failed stays, for an access that it matters to.
    void forget_done() noexcept;

private:
    /// Side by side.
    struct lists {
        std::vector<coherence::queued_work> ranges;
        std::vector<work> works;
        std::uint64_t last = 0;
    };

    void remove_at(std::size_t index) noexcept;

    std::unique_ptr<lists> lists_;  // null in a buffer that has never queued work
};

}  // namespace unibuf::detail
