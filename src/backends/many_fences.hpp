// backends/many_fences.hpp: work that is started piece by piece, as one.
#pragma once

#include <utility>
#include <vector>

#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Collects the fences of pieces of one work.
class many_fences {
public:
    /// Calls `start`, and keeps the fence that it returns; where there is no memory for that, waits for it. Where
    /// `start` throws, waits for all that was started before.
    template <class Start>
    void add(const Start& start) {
        const bool has_room = make_room();
        try {
            fence made = start();
            if (!made.native()) return;
            if (!has_room) return static_cast<void>(made.wait());
            started_.push_back(std::move(made));
        } catch (...) {
            wait();
            throw;
        }
    }

    /// Returns a fence of all. Where there is no memory for one, waits for all. Where it throws, nothing goes on any
    /// more.
    fence all() &&;

private:
    bool make_room() noexcept;
    void wait() const noexcept;

    std::vector<fence> started_;
};

}  // namespace unibuf::backends
