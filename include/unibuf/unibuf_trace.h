// unibuf/unibuf_trace.h: the part of the C API about what was copied, and what must not be. unibuf.h includes it.
#pragma once

#include "unibuf.h"  // NOLINT(misc-header-include-cycle): for programs that include this one first

#ifdef __cplusplus
extern "C" {
#endif

// ---- Traces ---------------------------------------------------------------------------------------------------------

/// Writes all events of this process to a file from now on, until its end or unibuf_trace_end(): `unibuf report`, `why`
/// and `doctor` read it. A file that is there is overwritten. A close trace also says which bytes of transfers were
/// news, when leases ended, and how long each transfer took; it makes the program slower. UNIBUF_INVALID_ARGUMENT where
/// the file cannot be written, or a trace is being written.
UNIBUF_C_API unibuf_status unibuf_trace_begin(const char* file, bool close);
UNIBUF_C_API void unibuf_trace_end(void);

/// How many events each thread keeps, without a file: 1,024 at first, 2^24 at most. 0 turns that off.
UNIBUF_C_API void unibuf_keep_events(size_t each_thread);

/// Bytes over links that were moved, and the fewest that had to be; bytes that were written, by how unibuf knew.
typedef struct unibuf_traffic {
    uint64_t moved;
    uint64_t least;
    uint64_t declared;
    uint64_t found;
    uint64_t assumed;
} unibuf_traffic;

/// Gives the traffic of the events that are kept.
UNIBUF_C_API unibuf_status unibuf_recorded_traffic(unibuf_traffic* sum);

/// Gives sentences about a buffer, a line each, oldest first, from the events that are kept: who wrote and used which
/// bytes where, and what was moved for that. The text is good until this thread's next call.
UNIBUF_C_API unibuf_status unibuf_why(const unibuf_buffer* buffer, const char** text);

// ---- Guards and budgets ---------------------------------------------------------------------------------------------

typedef UNIBUF_C_ENUM(unibuf_guard_action){
    UNIBUF_GUARD_ALLOW = 0,
    UNIBUF_GUARD_LOG = 1,    // a line on the standard error stream for each access
    UNIBUF_GUARD_REFUSE = 2  // the access fails with UNIBUF_ACCESS_CONFLICT, and no byte has moved
} unibuf_guard_action;

typedef struct unibuf_guard unibuf_guard;
typedef struct unibuf_budget unibuf_budget;

/// Begins to guard transfers from one space to another, UNIBUF_NO_SPACE for any, which this thread's accesses make by
/// the way: leases, raw pointers and handles. Those that are asked for by name (sync, prefetch, copies) and evictions
/// go on. Of the guards that are about a transfer the innermost decides. A guard ends on its thread.
UNIBUF_C_API unibuf_status unibuf_guard_begin(unibuf_guard_action action, unibuf_space from, unibuf_space to,
                                              unibuf_guard** guard);
UNIBUF_C_API void unibuf_guard_end(unibuf_guard* guard);

/// Begins to count what all buffers move from one space to another, UNIBUF_NO_SPACE for any, on any thread.
UNIBUF_C_API unibuf_status unibuf_budget_begin(uint64_t bytes, unibuf_space from, unibuf_space to,
                                               unibuf_budget** budget);

/// Writes what was moved since, where `moved` is not NULL. UNIBUF_ACCESS_CONFLICT where that is more than the budget;
/// the message says from where to where, and what for.
UNIBUF_C_API unibuf_status unibuf_budget_check(const unibuf_budget* budget, uint64_t* moved);
UNIBUF_C_API void unibuf_budget_end(unibuf_budget* budget);

#ifdef __cplusplus
}
#endif
