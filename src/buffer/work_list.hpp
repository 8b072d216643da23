// buffer/work_list.hpp: device work on one buffer that may still be under way.
#pragma once

#include <cstdint>
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
    std::uint32_t thread = this_thread();  // that queued it: a queue may be one for each thread
};

/// Not thread-safe: the buffer's lock guards it.
class work_list {
public:
    bool empty() const noexcept { return ranges_.empty(); }

    /// What the core needs to know of it.
    std::span<const coherence::queued_work> ranges() const noexcept { return ranges_; }

    /// Makes room, so that as many calls of `add` do not throw.
    void reserve(std::size_t more);

    /// Adds work. Older work that cannot be done later than it is forgotten.
    void add(const coherence::queued_work& queued, work added);

    /// The work `ticket`, or null where it is done and forgotten.
    const work* find(std::uint64_t ticket) const noexcept;
    void remove(std::uint64_t ticket) noexcept;

    /// Forgets what is done. Work that has failed stays, for an access that it matters to.
    void forget_done() noexcept;

private:
    void remove_at(std::size_t index) noexcept;

    std::vector<coherence::queued_work> ranges_;
    std::vector<work> works_;  // side by side with ranges_
    std::uint64_t last_ = 0;
};

}  // namespace unibuf::detail
