// process/mutex.cpp: mutexes that a forked process finds unlocked.
#include "process/mutex.hpp"

#include <pthread.h>

#include <new>

namespace unibuf::process {

/// All that there are, in the order of their ranks.
class all_mutexes {
public:
    static all_mutexes& instance() {
        static auto* const only = [] {
            auto* const made = new all_mutexes;
            ::pthread_atfork([] { instance().lock(); }, [] { instance().unlock(); },
                             [] { instance().unlock_in_child(); });
            return made;
        }();
        return *only;
    }

    void add(mutex& added) noexcept {
        const std::scoped_lock lock(mutex_);
        mutex** place = &first_;
        while (*place && (*place)->rank_ <= added.rank_) place = &(*place)->next_;
        added.next_ = *place;
        *place = &added;
    }

    void remove(mutex& gone) noexcept {
        const std::scoped_lock lock(mutex_);
        mutex** place = &first_;
        while (*place != &gone) place = &(*place)->next_;
        *place = gone.next_;
    }

private:
    void lock() {
        mutex_.lock();
        for (mutex* each = first_; is_taken_to_fork(each); each = each->next_) each->lock();
    }

    void unlock() noexcept {
        for (mutex* each = first_; is_taken_to_fork(each); each = each->next_) each->unlock();
        mutex_.unlock();
    }

    void unlock_in_child() noexcept {
        for (mutex* each = first_; each; each = each->next_) {
            if (!is_taken_to_fork(each)) each->renew();
        }
        unlock();
    }

    /// Returns whether whoever forks takes it; those that nobody takes are the last.
    static bool is_taken_to_fork(const mutex* of) noexcept { return of && of->rank_ != mutex::rank::renewed; }

    std::mutex mutex_;  // nothing is taken under it but by whoever forks
    mutex* first_ = nullptr;
};

mutex::mutex(rank of) : rank_(of) { all_mutexes::instance().add(*this); }
void mutex::renew() noexcept { ::new (static_cast<void*>(&by_)) std::mutex; }
mutex::~mutex() { all_mutexes::instance().remove(*this); }

}  // namespace unibuf::process
