// process/mutex.hpp: mutexes that a forked process finds unlocked.
#pragma once

#include <mutex>

namespace unibuf::process {

/// A mutex of what the whole process has. A child must not find it held by a thread that it does not have, so whoever
/// forks takes all of these first, in the order of their ranks, and lets go of them in both processes. What is done
/// under one takes none of a lower rank, and calls neither drivers nor the program: these have handlers of their own
/// for a fork. Under those of the rank `renewed` they may be called: nobody takes these to fork, and a child has new
/// ones. Where a thread of the parent was changing what one guards, the child finds it half changed.
class mutex {
public:
    enum class rank { pools, pool, leaf, renewed };

    explicit mutex(rank of = rank::leaf);
    ~mutex();
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    void lock() { by_.lock(); }
    bool try_lock() { return by_.try_lock(); }
    void unlock() noexcept { by_.unlock(); }

private:
    friend class all_mutexes;

    void renew() noexcept;

    std::mutex by_;
    const rank rank_;
    mutex* next_ = nullptr;  // of those that whoever forks takes, in their order
};

}  // namespace unibuf::process
