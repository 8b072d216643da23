// buffer/waiting_writers.hpp: writers that wait for readers of a buffer, so that readers that keep coming let them in.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "coherence/region.hpp"

namespace unibuf::detail {

/// A new reader lets writers that wait go first for so long, and then goes on: if writers always went first, two
/// threads that read two buffers in a circle, with a writer waiting for each, would wait for ever.
inline constinit std::atomic<std::chrono::nanoseconds> readers_patience{std::chrono::milliseconds(10)};

/// The writers of one buffer that wait. Not thread-safe: the buffer's lock guards them. They need no memory of their
/// own, as each entry lies on the stack of the thread that waits.
class waiting_writers {
public:
    /// A writer of `part` waits while this lives; its end is told to those who wait for `changed`.
    class entry {
    public:
        entry(waiting_writers& in, region part, std::condition_variable_any& changed) noexcept
            : in_(in), part_(std::move(part)), changed_(changed), after_(in.first_) {
            in.first_ = this;
        }
        ~entry() {
            entry** link = &in_.first_;
            while (*link != this) link = &(*link)->after_;
            *link = after_;
            changed_.notify_all();
        }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

    private:
        friend class waiting_writers;

        waiting_writers& in_;
        region part_;
        std::condition_variable_any& changed_;
        entry* after_;
    };

    bool any(const region& part) const noexcept {
        const entry* each = first_;
        while (each && !each->part_.overlaps(part)) each = each->after_;
        return each != nullptr;
    }

private:
    entry* first_ = nullptr;
};

}  // namespace unibuf::detail
