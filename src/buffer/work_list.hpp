// buffer/work_list.hpp: device work on one buffer that may still be under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "buffer/named_queue.hpp"
#include "coherence/plan.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::detail {

struct work {
    fence done;
    named_queue on;          // the queue that the work is on; where none was named, it may be any of the device's
    bool transfer = false;   // a transfer of unibuf's own: where it fails, what it wrote is not current
    bool unordered = false;  // an event of the program's own, which may come before or after any other
    bool orphaned = false;   // what it writes belongs to nobody any more, so its failure is nothing to anybody
    std::uint32_t thread = this_thread();       // the thread that queued the work: a queue may be one for each thread
    const backends::late_work* late = nullptr;  // of `done`, where that is late work

    /// Returns whether nobody has asked for `done` yet: what is submitted now is part of it.
    bool is_late() const noexcept { return late && !late->is_known(); }
};

/// The queued work of one buffer. Not thread-safe: the buffer's lock guards it.
class work_list {
public:
    bool empty() const noexcept { return !lists_ || lists_->ranges.empty(); }

    /// Returns whether so much work is noted that it pays to ask which of it is done.
    bool is_long() const noexcept { return lists_ && lists_->ranges.size() >= lists_->long_from; }

    /// Returns whether whatever `thread` puts on the queue `on` of the space `where`, which it names, comes after all
    /// of this work.
    bool is_before_all_on(const named_queue& on, coherence::space_id where, std::uint32_t thread) const noexcept;

    bool any_writes() const noexcept { return std::ranges::any_of(ranges(), &coherence::queued_work::writes); }

    /// Returns what coherence needs to know of the work.
    std::span<const coherence::queued_work> ranges() const noexcept {
        return lists_ ? std::span<const coherence::queued_work>(lists_->ranges)
                      : std::span<const coherence::queued_work>();
    }

    /// Makes room, so that so many calls of `add` do not throw.
    void reserve(std::size_t more);

    /// Returns whether the list has such work that a lease has left behind, and what is submitted now is part of it.
    bool has_late(const coherence::queued_work& queued, const named_queue& on) const noexcept;

    /// Adds work. Older work that cannot be done later than this is forgotten. REQUIRES: reserve() has made room.
    void add(const coherence::queued_work& queued, work added) noexcept;

    /// Returns the work `ticket`, or null where it is done and forgotten.
    const work* find(std::uint64_t ticket) const noexcept;
    void remove(std::uint64_t ticket) noexcept;
    void remove_all_of(const fence& done) noexcept;

    /// Notes that the content is forgotten: all work is still waited for, as it uses the memory.
    void orphan_all() noexcept;

    /// Forgets work that is done. Work that has failed stays, for an access that it matters to. What nobody has asked
    /// for yet is left as it is where `asks_late` is false. The program's own events are never asked: its code is not
    /// called under the lock (see waits.hpp).
    void forget_done(bool asks_late = true) noexcept;

    /// Returns the program's own events, with their tickets.
    std::vector<std::pair<std::uint64_t, fence>> events() const;

private:
    static constexpr std::size_t shortest_long = 8;

    /// The entries of `ranges` and `works` with one index belong together.
    struct lists {
        std::vector<coherence::queued_work> ranges;
        std::vector<work> works;
        std::uint64_t last = 0;
        std::size_t long_from = shortest_long;
    };

    bool covers(const coherence::queued_work& queued, const work& added, std::size_t index) const noexcept;
    void remove_at(std::size_t index) noexcept;

    std::unique_ptr<lists> lists_;  // null in a buffer that has never queued work
};

}  // namespace unibuf::detail
