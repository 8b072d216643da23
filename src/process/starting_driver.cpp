// process/starting_driver.cpp: the end of a process waits for drivers that are starting.
#include "process/starting_driver.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "process/forks.hpp"
#include "system/processes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::process {
namespace {

constexpr std::chrono::seconds longest_end{10};

constinit std::atomic<int> starting = 0;
constinit std::atomic<bool> is_ending = false;
thread_local constinit int starting_here = 0;

/// Waits at the end of the thread that has loaded the library, where that is the main thread. What a thread has goes
/// before what the process has, and so before the objects of a driver.
struct end_of_thread {
    bool is_made = false;

    ~end_of_thread() {
        using namespace std::chrono;
        if (forks() != 0 || !system::is_main_thread()) return;  // in a child, whoever was starting one is the parent's
        is_ending.store(true, std::memory_order_seq_cst);
        const auto until = steady_clock::now() + longest_end;
        while (starting.load(std::memory_order_acquire) > starting_here && steady_clock::now() < until) {
            std::this_thread::sleep_for(milliseconds(1));
        }
    }
};

thread_local end_of_thread here;
const bool is_made = here.is_made = true;

}  // namespace

starting_driver::starting_driver() {
    starting.fetch_add(1, std::memory_order_seq_cst);
    if (is_ending.load(std::memory_order_seq_cst)) {
        starting.fetch_sub(1, std::memory_order_acq_rel);
        if (!system::is_main_thread()) std::this_thread::sleep_for(longest_end);
        throw error(error_code::device_unavailable, "a driver was to be started while the process ends");
    }
    ++starting_here;
}

starting_driver::~starting_driver() {
    --starting_here;
    starting.fetch_sub(1, std::memory_order_acq_rel);
}

}  // namespace unibuf::process
