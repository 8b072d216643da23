// backends/many_fences.hpp: work that is started piece by piece, as one.
#pragma once

#include <functional>
#include <vector>

#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// Collects the fences of pieces of one work.
class many_fences {
public:
    /// Calls `start`, and keeps the fence that it returns. Where it throws, waits for all that was started before.
    void add(const std::function<fence()>& start);

    /// Returns a fence of all.
    fence all() &&;

private:
    std::vector<fence> started_;
};

}  // namespace unibuf::backends
