// trace/recorder.hpp: keeps the last events of each thread, and writes all of them where a file is wanted.
//
// What always holds:
//  1. To record waits for nobody and touches no device. A thread's first event needs memory for its ring. In a trace
//     each 512th event takes a piece more of the file, under the lock of the files, and the first event from a place
//     asks the loader for its name.
//  2. Nothing is recorded where memory or the disk is full; a trace says so, once, on stderr.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "coherence/byte_range.hpp"
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

class ring;

/// What all events of a thread have.
struct thread_state {
    std::uint64_t events = 0;  // so many are recorded
    std::uint64_t site = 0;    // what call_from has said
    ring* kept = nullptr;      // where they are kept
    bool in_batch = false;     // a batch is submitted
    bool has_ended = false;    // the thread goes, and takes no ring any more
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

/// When and from which place of the program something was recorded, 0 where that is not known.
struct moment {
    std::uint64_t time = 0;
    std::uint64_t site = 0;
};

/// Adds the thread, the process, a number and, where they are 0, the time and the place in the program, and keeps the
/// event.
void record(event& made) noexcept;

/// Does so for one of several events of one call, from the place of the others: to find it out takes long.
inline void record(event& made, moment& of_call) noexcept {
    made.site = of_call.site;
    record(made);
    of_call = {made.time, made.site};
}

/// Records that the program was found to have written bytes at the host.
void record_found(std::uint64_t buffer, byte_range written) noexcept;

/// Records that the program may have written them. `why_untracked` is null where such writes are found in this process;
/// else it says for files why they are not.
void record_assumed(std::uint64_t buffer, byte_range written, std::string (*why_untracked)()) noexcept;

/// Records that another process may have written them.
void record_assumed_of_others(std::uint64_t buffer, byte_range written) noexcept;

}  // namespace unibuf::trace
