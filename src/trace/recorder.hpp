// trace/recorder.hpp: keeps the last events of each thread, and writes all of them where a file is wanted.
//
// What always holds:
//  1. A thread writes to its own ring alone. Others read it meanwhile: the time of an event is 0 while it changes.
//  2. To record waits for nobody and touches no device. A thread's first event needs memory for its ring. In a trace
//     each 512th event takes a piece more of the file, under the lock of the files, and the first event from a place
//     asks the loader for its name.
//  3. Nothing is recorded where memory or the disk is full; a trace says so, once, on stderr.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unibuf/trace.hpp"

namespace unibuf::trace {

/// Whether anybody wants events: looked at before one is made.
inline constinit std::atomic<bool> wanted = true;
inline bool is_on() noexcept { return wanted.load(std::memory_order_relaxed); }

/// Whether the trace that is being written is a close one.
inline constinit std::atomic<bool> close = false;
inline bool is_close() noexcept { return close.load(std::memory_order_relaxed); }

/// The nanoseconds of CLOCK_MONOTONIC.
std::uint64_t now() noexcept;

/// Puts events in their order.
void sort(std::vector<event>& events);

/// Calls visit(event) for the events that the calling thread keeps, the newest first, until it returns false.
void visit_own(const std::function<bool(const event&)>& visit);

/// Calls visit(event) for all events that are kept, in any order.
void visit_all(const std::function<void(const event&)>& visit);

/// Gives a buffer a name, which traces have from then on, until forget_name. A buffer may have several.
void name_buffer(std::uint64_t buffer, std::string_view name) noexcept;
void forget_name(std::uint64_t buffer) noexcept;

/// Returns where the program had the copy of a buffer at a space made; empty where that is not recorded, or no more.
std::string place_of_allocation(std::uint64_t buffer, std::uint8_t space);

/// What all events of a thread have.
struct thread_state {
    std::uint64_t events = 0;  // so many are recorded
    std::uint64_t site = 0;    // what call_from has said
    bool in_batch = false;     // a batch is submitted
};
inline thread_local constinit thread_state mine;

/// Makes events those of a batch as long as it lives.
class batched {
public:
    batched() noexcept { mine.in_batch = true; }
    ~batched() { mine.in_batch = false; }
    batched(const batched&) = delete;
    batched& operator=(const batched&) = delete;
};

/// When and from which place of the program something was recorded, 0 where that is not known: what is recorded at once
/// after it takes both from here, as to find them out takes long.
struct moment {
    std::uint64_t time = 0;
    std::uint64_t site = 0;
};

/// Adds the thread, the process, a number and, where they are 0, the time and the place in the program, and keeps the
/// event.
void record(event& made) noexcept;

}  // namespace unibuf::trace
