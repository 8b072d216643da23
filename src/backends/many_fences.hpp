// backends/many_fences.hpp: work that is started piece by piece, as one.
#pragma once

#include <vector>

#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Collects the fences of pieces of one work.
class many_fences {
public:
    /// Calls `start`, and keeps the fence that it returns. Where it throws, waits for all that was started before.
    template <class Start>
    void add(const Start& start) {
        try {
            started_.emplace_back();  // there is room before anything starts
            started_.back() = start();
        } catch (...) {
            wait();
            throw;
        }
        if (!started_.back().native()) started_.pop_back();
    }

    /// Returns a fence of all. Where it throws, nothing goes on any more.
    fence all() &&;

private:
    void wait() const noexcept;

    std::vector<fence> started_;
};

}  // namespace unibuf::backends
