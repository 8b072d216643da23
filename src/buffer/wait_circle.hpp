// buffer/wait_circle.hpp: threads that wait for each other's leases in a circle, which nothing but a timeout ends.
#pragma once

#include <cstdint>
#include <string>

namespace unibuf::detail {

/// The thread `waiter` waits for a hold of the thread `holder` while this lives; `asked` says for what, and who has it.
/// A thread waits for one at a time. Debug builds note it for each wait, which costs a lock of the whole process.
class waits_for {
public:
    waits_for(std::uint32_t waiter, std::uint32_t holder, std::string asked);
    ~waits_for();
    waits_for(const waits_for&) = delete;
    waits_for& operator=(const waits_for&) = delete;

    /// What each thread of the circle has asked for that this wait closes; empty where it closes none.
    std::string circle() const;

private:
    std::uint32_t waiter_;
};

}  // namespace unibuf::detail
