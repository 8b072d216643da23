// backends/opengl/worker.cpp: the jobs and the thread that does them.
#include "backends/opengl/worker.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <utility>

#include "backends/backend.hpp"
#include "backends/poll.hpp"
#include "system/processes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {

worker& worker::start(const char* name) {
    auto& started = *new worker;
    // The program's signals are for the program's threads; the new thread inherits the mask.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);                                                                  // a macro on some systems
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) sigdelset(&all, fault);  // are the thread's own
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        std::thread thread([&started, name] {
            system::name_this_thread(name);
            started.loop();
        });
        started.thread_ = thread.get_id();
        thread.detach();
    } catch (...) {
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        delete &started;
        throw;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

void worker::run(const std::function<void()>& job, bool callers) {
    if (here()) return job();

    std::atomic<bool> done = false;
    std::exception_ptr failure;
    add({[&] {
             try {
                 job();
             } catch (...) {
                 failure = std::current_exception();
             }
             const std::lock_guard lock(mutex_);
             done.store(true, std::memory_order_release);  // this frame may be gone from here on
             changed_.notify_all();
         },
         &done, callers});
    if (!is_done_soon([&] { return done.load(std::memory_order_acquire); })) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return done || dropped(&done); });
    }
    if (!done) check_open();
    if (failure) std::rethrow_exception(failure);
}

void worker::post(std::function<void()> job) {
    if (!here()) return add({std::move(job)});
    assist();
    job();
}

void worker::assist() {
    // The program's own jobs stay where they are in the queue: nobody can have been told that they are done, so nothing
    // is ordered after them, and they may do anything to the state that the job at work relies on.
    std::unique_lock lock(mutex_);
    while (!closed_) {  // whoever waited for a job that is left has gone
        const auto next = std::ranges::find(jobs_, false, &entry::callers);
        if (next == jobs_.end()) return;
        {
            const auto job = std::move(next->job);
            jobs_.erase(next);
            any_.store(!jobs_.empty(), std::memory_order_relaxed);
            lock.unlock();
            job();
        }
        lock.lock();
    }
}

void worker::check_open() const {
    if (closed_.load(std::memory_order_acquire)) {
        throw error(error_code::device_lost, "the OpenGL thread has stopped: the process ends");
    }
}

void worker::close(std::chrono::nanoseconds moment) noexcept {
    std::unique_lock lock(mutex_);
    closed_.store(true, std::memory_order_release);
    changed_.notify_all();
    if (!here()) changed_.wait_for(lock, moment, [&] { return !busy_; });
}

void worker::dismiss() noexcept {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
    closed_.store(true, std::memory_order_release);
    changed_.notify_all();
}

void worker::add(entry added) {
    check_open();
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(added));
    any_.store(true, std::memory_order_relaxed);
    changed_.notify_all();
}

/// Returns whether the job of `waiter` will never be begun.
bool worker::dropped(const void* waiter) const {
    return closed_ && std::ranges::find(jobs_, waiter, &entry::waiter) != jobs_.end();
}

void worker::loop() {
    static thread_local worker* mine = nullptr;
    mine = this;
    help_others = [] { mine->assist(); };
    std::unique_lock lock(mutex_);
    while (!closed_) {
        if (jobs_.empty()) {
            lock.unlock();
            is_done_soon([this] { return any_.load(std::memory_order_relaxed) || closed_; });
            lock.lock();
            changed_.wait(lock, [this] { return !jobs_.empty() || closed_; });
            continue;
        }
        busy_ = true;
        {
            const auto job = std::move(jobs_.front().job);
            jobs_.pop_front();
            any_.store(!jobs_.empty(), std::memory_order_relaxed);
            lock.unlock();
            job();
        }
        lock.lock();
        busy_ = false;
        if (closed_) changed_.notify_all();
    }
    lock.unlock();
    // If the thread ended, the driver would clean up beside the destructors of the ending process.
    while (!dismissed_) ::pause();
}

}  // namespace unibuf::backends
