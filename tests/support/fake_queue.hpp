// support/fake_queue.hpp: an in-order queue of device work that does nothing until somebody waits.
#pragma once

#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "unibuf/fence.hpp"

namespace unibuf::test {

class fake_memory;

/// A queue whose work runs when somebody waits for a fence of it, or of later work. So a wait that is missing shows as
/// bytes that have not arrived. A look (a wait of no time) sees what is done, and runs nothing.
class fake_queue {
public:
    struct task {
        std::function<void(std::size_t)> run;  // does as many bytes of the work as it is given
        std::size_t bytes = 0;
        const fake_memory* of = nullptr;
        std::function<void()> failed = [] {};
    };

    fence add(task queued);

    /// Returns a fence of all work that was added before.
    fence mark();

    /// Returns whether `before` is a fence of this queue.
    bool holds(const fence& before) const noexcept;

    void run_all();

    /// Returns whether work on `memory` is still to be done.
    bool uses(const fake_memory& memory) const;

private:
    struct entry;

    void run_before(const entry& last);

    mutable std::recursive_mutex mutex_;
    std::deque<std::shared_ptr<entry>> waiting_;
};

}  // namespace unibuf::test
