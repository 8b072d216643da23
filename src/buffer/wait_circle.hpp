// buffer/wait_circle.hpp: threads that wait for each other in a circle, which nothing but a timeout ends.
#pragma once

#include <cstdint>
#include <string>

namespace unibuf::detail {

/// Notes, as long as it lives, that the thread `waiter` waits for a hold of the thread `holder` in the buffer `of`,
/// which is known by its address. `request` says what was asked for, and who holds it. A thread waits for one hold at a
/// time. Only debug builds note waits: each costs a lock of the whole process.
class waits_for {
public:
    waits_for(std::uint32_t waiter, std::uint32_t holder, const void* of, std::string request);
    ~waits_for();
    waits_for(const waits_for&) = delete;
    waits_for& operator=(const waits_for&) = delete;

    /// Forgets who waits in the buffer `of`: a hold of it may have ended, and all of them look again.
    static void look_again(const void* of) noexcept;

    /// Returns what each thread of the circle that this wait closes has asked for; empty where it closes none.
    std::string circle() const;

private:
    std::uint32_t waiter_;
};

}  // namespace unibuf::detail
