// backends/opengl/worker.hpp: a thread that does jobs in the order in which they came.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace unibuf::backends {

/// A worker is never destroyed, and its thread is detached, so the end of the process waits for neither.
///
/// Jobs may be given from any thread, the worker's own included: there they are done on the spot. Once the worker is
/// closed, run and post throw error(device_lost), also where they wait already.
class worker {
public:
    static worker& start(const char* name);

    bool here() const noexcept { return std::this_thread::get_id() == thread_; }

    /// Does the job and returns when the job has returned; passes on what it throws.
    void run(const std::function<void()>& job) { run(job, false); }

    /// Runs a job of the program's own, which may use the thread for long. No other job of the program is done in the
    /// middle of it.
    void run_callers(const std::function<void()>& job) { run(job, true); }

    /// Does the job later. It must not throw.
    void post(std::function<void()> job);

    /// Does the jobs that came before, but for the program's own. It is called on the worker's own thread, by a job
    /// that waits for another thread.
    void assist();

    /// Throws error(device_lost) where the worker does no more jobs.
    void check_open() const;

    /// Takes no more jobs, drops those that wait, and waits a moment for the one at work: the process ends.
    void close(std::chrono::nanoseconds moment) noexcept;

    /// Ends the thread of a worker that has nothing to do and will get nothing.
    void dismiss() noexcept;

private:
    struct entry {
        std::function<void()> job;
        const void* waiter = nullptr;  // waits for the job in run(); null for a job that was posted
        bool callers = false;
    };

    worker() = default;

    void run(const std::function<void()>& job, bool callers);
    void loop();
    void add(entry added);
    bool dropped(const void* waiter) const;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<entry> jobs_;
    std::atomic<bool> any_ = false;  // whether there are jobs; changed under the lock
    bool busy_ = false;
    std::atomic<bool> dismissed_ = false;
    std::atomic<bool> closed_ = false;
    std::thread::id thread_;
};

}  // namespace unibuf::backends
