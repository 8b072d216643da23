// tests/doubles/cuda/driver.hpp: the state of the driver, and how each call enters it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "doubles/cuda/addresses.hpp"
#include "doubles/cuda/objects.hpp"
#include "doubles/cuda/settings.hpp"

namespace cuda_double {

struct count {
    std::uint64_t calls = 0;
    std::uint64_t bytes = 0;
};

struct failure {
    std::string function;  // empty: any
    std::uint64_t after = 0;
    std::uint64_t times = 0;
    result status = success;
};

/// Never destroyed: streams run while the process ends.
struct driver {
    static driver& instance();

    std::mutex mutex;
    std::condition_variable done;  // some work is

    bool initialized = false;
    std::vector<CUctx_st*> contexts;  // by device; null until retained
    std::vector<CUstream_st*> streams;
    std::map<CUstream_st*, CUstream_st*> given_again;  // streams that have the handles of others, by these
    CUstream_st* give_next = nullptr;                  // the handle of the next stream, where it is to be an old one
    std::atomic<std::size_t> threads = 0;
    std::set<const CUevent_st*> events;
    addresses memory;
    vector_clock host;  // what some thread of the program has waited for

    std::map<std::string, count, std::less<>> counts;
    std::vector<failure> failures;
    std::uint64_t hits = 0;         // calls that failed by these
    std::map<int, int> attributes;  // what tests have set
    bool hostile = chosen().hostile;
    std::size_t queues = 0;  // of the hardware, that streams share; 0 where none are shared
};

/// The contexts that are current on this thread, the newest last; and how it takes captures.
struct thread_state {
    thread_state();
    ~thread_state();

    const std::size_t number;  // never used twice
    std::vector<CUctx_st*> current;
    int capture_mode = 0;
    bool runs_a_stream = false;
};
thread_state& this_thread();

/// One call of the driver: takes the lock, counts, and finds out whether it may go on.
class call {
public:
    enum class needs {
        nothing,
        driver,   // that it was initialized
        context,  // that one is current, and works
        safety,   // that too, and no capture that the call would break
    };

    call(const char* name, needs what);

    const char* name() const noexcept { return name_; }

    /// What to answer, where it may not go on.
    result refused() const noexcept { return refused_; }
    CUctx_st& context() const noexcept { return *context_; }
    driver& in() const noexcept { return driver_; }
    std::unique_lock<std::mutex>& lock() noexcept { return lock_; }

    void count_bytes(std::size_t bytes);

    /// What a poll answers whose work is not done. However often that is asked, no failure comes nearer by it.
    result not_yet();

    /// Lets others in until `work` is done.
    void wait_for(const queued& work);

    /// What the program knows from now on.
    void seen_by_host(const vector_clock& when) { driver_.host.join(when); }

private:
    result check(needs what);
    result injected();

    driver& driver_;
    const char* name_;
    std::unique_lock<std::mutex> lock_;
    CUctx_st* context_ = nullptr;
    result refused_ = success;
    std::vector<failure*> nearer_;  // by this call
};

/// Whether a call that a capture does not see would break one, which it does then.
bool breaks_captures(driver& in);

/// Breaks the captures under way in `of`; false where there is none.
bool break_captures(const CUctx_st& of);

}  // namespace cuda_double

/// Defines one function of the driver.
#define CUDA_DOUBLE_CALL extern "C" __attribute__((visibility("default"))) ::unibuf::backends::cuda::result
