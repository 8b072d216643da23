// unibuf/trace.hpp: what has happened to buffers, event by event.
//
// Each thread keeps its last events: a flight recorder that is always on. With UNIBUF_TRACE=file in the environment, or
// write_trace(), all events go to a file too, which the command-line tool reads; what is there when a program crashes
// stays. UNIBUF_TRACE_CLOSE=1 makes the former a close trace. %p in its name stands for the number of the process: then
// processes that are forked off have one too. An access that the gate lets pass (of bytes that are current) changes
// nothing and is no event.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unibuf/export.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {

enum class event_kind : std::uint8_t {
    none,
    access,      // a lease, raw access or verb was granted at `to`; it lacked `bytes` there
    transfer,    // `bytes` were moved from `from` to `to`
    fill,        // a pattern was repeated at `to`
    mark,        // the program said that the bytes at `to` are the newest
    found,       // the program had written the bytes at the host through a pointer, which was found
    assumed,     // the program, or another that shares the buffer, may have written the bytes at the host
    discard,     // the content was given up: nobody has written the bytes
    allocation,  // a copy was made at `to`; it shares the memory of `from` where the two differ
    release,     // the copy at `to` went
    eviction,    // the copy at `to` went because others needed the memory
    wait,        // an access at `to` had to wait, for `took`, until others had ended theirs
    lease_end,   // of close traces: a lease at `to` ended, which had been held for `took`
    text,        // of the file alone: names a buffer, a space or a place in the program
};

UNIBUF_API std::string_view to_string(event_kind kind) noexcept;

/// One event, as it is in memory and in a file. Bytes are those from `begin` to `end` of the buffer; of a rectangle
/// with at most two axes above its rows, those rows.
struct event {
    std::uint64_t time = 0;  // when it had happened, in ns of CLOCK_MONOTONIC
    event_kind kind = event_kind::none;
    cause why = cause::read;
    access what = access::read;
    std::uint8_t from = 0;  // space::id()
    std::uint8_t to = 0;
    bool is_demand : 1 = true;    // somebody used the bytes, or may have: no prefetch, and no eviction
    bool is_batched : 1 = false;  // made by batch::submit
    bool is_pooled : 1 = false;   // of an allocation: the buffer belongs to a pool
    bool by_others : 1 = false;   // of what is assumed: another process may have written
    bool untracked : 1 = false;   // of what is assumed: no such write is found in the process: see trace_file
    std::uint8_t spare : 3 = 0;
    std::uint8_t axes = 0;  // of a rectangle: how many counts and pitches there are; `hull_only` where not enough
    transfer_route route = transfer_route::direct;
    std::uint32_t thread = 0;  // threads are numbered as they come
    std::uint32_t process = 0;
    std::uint64_t buffer = 0;  // buffer::id()
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t bytes = 0;
    std::uint64_t took = 0;   // ns; of queued work, until the call returned; 0 for a host copy of the heap
    std::uint64_t site = 0;   // where the program called: an address of its code; 0 where that is not known
    std::uint64_t queue = 0;  // the queue that was named
    std::uint64_t row_bytes = 0;
    std::array<std::uint32_t, 2> counts{};   // the outermost axis first
    std::array<std::uint64_t, 2> pitches{};  // bytes from one to the next along each
    std::uint64_t number = 0;                // of the event, among those of its thread
    std::uint64_t news = 0;                  // of a transfer in a close trace: see news_of
};
static_assert(sizeof(event) == 128);

/// What event::axes is for rectangles of more axes: what lies between their first byte and their last is counted too.
inline constexpr std::uint8_t hull_only = 3;

/// Returns how many bytes of a transfer were news, in lines of 64 bytes: other than what had gone between the same two
/// memories before. Nothing where that was not looked at.
inline std::optional<std::uint64_t> news_of(const event& of) noexcept {
    return of.news == 0 ? std::nullopt : std::optional(of.news - 1);
}

/// Returns whether the event's bytes may be others after it. What the host writes through a pointer is `found`, or
/// `assumed`, later.
UNIBUF_API bool is_write(const event& of) noexcept;

/// Returns what the threads' recorders hold, oldest first. Any thread.
UNIBUF_API std::vector<event> recorded_events();

/// Sets how many events each thread keeps, 2^24 at most, from its next event on. 0 turns the recorder off; a trace that
/// is being written goes on. At first 1,024, of 64 bytes each, or 128 where one is of a rectangle, names a queue, or
/// lacked some of its bytes. Their numbers are kept modulo 2^32.
UNIBUF_API void keep_events(std::size_t each_thread);

/// What a trace looks at.
enum class trace_detail : std::uint8_t {
    events,
    /// Also which bytes of transfers are news, when leases end, and how long each transfer takes. For that, unibuf
    /// keeps a copy of what it moves to and from the host, transfers that name no queue are waited for, and each access
    /// takes the lock: the program is slower, and needs more memory.
    close,
};

/// Writes all events of this process to a file from now on, until the end of the process or stop_trace(), beside the
/// one that the environment names. A file that is there is replaced; where another process is writing it, this one's
/// number is added to the name. Returns the name. Throws error(invalid_argument) where the file cannot be written, or
/// the program is writing a trace.
UNIBUF_API std::string write_trace(const std::string& file, trace_detail detail = trace_detail::events);
UNIBUF_API void stop_trace();
UNIBUF_API bool is_tracing() noexcept;

/// Writes all events of this process to a file as long as it lives: see write_trace.
class trace_scope {
public:
    explicit trace_scope(const std::string& file, trace_detail detail = trace_detail::events)
        : name_(write_trace(file, detail)) {}
    ~trace_scope() { stop_trace(); }
    trace_scope(const trace_scope&) = delete;
    trace_scope& operator=(const trace_scope&) = delete;

    /// Returns the name of the file, which may be another than was asked for.
    const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
};

// For bindings of languages whose calls have no address of their own.
/// Returns a number for a place in a program, which has no address: "solver.py:12 in step".
UNIBUF_API std::uint64_t site_of(std::string_view place);
/// Makes the place that of all events of this thread, and returns the one before. With 0 it is the address of each
/// call.
UNIBUF_API std::uint64_t call_from(std::uint64_t site) noexcept;

/// Says that the library which has this address binds unibuf to another language, and stays loaded: the place of its
/// calls is that where it was called; where `for_interpreter` is true, it is what call_from says, and nothing else. The
/// first 16 libraries are known. The library has to be compiled with -fno-omit-frame-pointer.
UNIBUF_API void add_binding(const void* address, bool for_interpreter = false) noexcept;

/// What a file holds.
struct trace_file {
    std::vector<event> events;                     // oldest first
    std::map<std::uint8_t, std::string> spaces;    // their names, by space::id()
    std::map<std::uint64_t, std::string> sites;    // "program+0x1234 function", by event::site
    std::map<std::uint64_t, std::string> buffers;  // names and shapes, of those that are in the registry
    std::string untracked;                         // why no write through a pointer is found; empty where they are

    /// Each returns a name also where the file has none.
    UNIBUF_API std::string space_name(std::uint8_t id) const;
    UNIBUF_API std::string buffer_name(std::uint64_t id) const;  // "buffer #3", "buffer #3: density (480 x 640, <f4)"
    UNIBUF_API std::string site_name(std::uint64_t site) const;
};

/// Returns what happened, and where the program asked for it, as a sentence. `names` may be empty, as of a recorder's
/// events.
UNIBUF_API std::string describe(const event& of, const trace_file& names = {});

/// The file may come from anywhere: events that cannot be are left out. A rectangle of more than 2^20 rows, or behind
/// 2^24 rows of others, is `hull_only`. Throws error(invalid_argument) where the file cannot be read, or is no trace.
UNIBUF_API trace_file read_trace(const std::string& file);

/// How much was moved, and had to be.
struct traffic {
    std::uint64_t moved = 0;  // over all links: a copy by way of the host counts twice

    /// The fewest bytes over links such that each that used some bytes found the newest: for the uses in their order,
    /// the placement as it was, and unlimited memory. What is moved ahead of its use, or to make room, is no use.
    std::uint64_t least = 0;

    // Bytes that were written, by how unibuf knew. Where it was assumed, `least` may be too large.
    std::uint64_t declared = 0;
    std::uint64_t found = 0;
    std::uint64_t assumed = 0;

    /// Returns moved / least; 1 for 0 of 0.
    UNIBUF_API double ratio() const noexcept;
};

/// Computes the traffic of the events, oldest first, or of one buffer alone. Of a buffer whose first events are gone,
/// as from a recorder, all content counts as everywhere before.
UNIBUF_API traffic traffic_of(std::span<const event> events);

/// What became of the bytes that a transfer has brought. Events are told by their place among those that were asked
/// about.
struct transfer_fate {
    std::size_t transfer = 0;
    std::optional<std::size_t> writer{};     // wrote its first byte last
    std::optional<std::size_t> first_use{};  // of any of its bytes where they went
    std::uint64_t used = 0;                  // bytes, as are the next three
    std::uint64_t overwritten = 0;           // there, before anybody used them
    std::uint64_t unread = 0;                // were written elsewhere, or given up, before anybody used them
    std::uint64_t evicted = 0;             // had been there, and are there again as others needed the memory meanwhile
    bool is_back = false;                  // no byte is news: all had been there, and nobody had written there since
    std::optional<std::size_t> answers{};  // the fate of the transfer the other way that brought what this is made from
};

/// Returns the fates of all transfers among the events, which are in their order, oldest first.
UNIBUF_API std::vector<transfer_fate> fates_of(std::span<const event> events);

/// What a program does that costs it time or traffic.
enum class fault : std::uint8_t {
    round_trip,          // bytes went somewhere and came back as they were
    overwritten_fetch,   // bytes were brought, and overwritten before anybody used them
    unread_copy,         // bytes were brought, and nobody used them
    ping_pong,           // the same bytes went to and fro, changed at both ends
    whole_for_part,      // of the bytes that were brought few were used, or few had changed
    many_small,          // many small transfers that one call would make
    churn,               // buffers were made and destroyed in a loop
    pageable,            // the host's memory was not pinned
    thrash,              // a copy was evicted, and needed again
    long_lease,          // others waited for a lease to end
    mark_without_write,  // bytes were said to be new that were as before
    filled_at_host,      // bytes were filled there, and moved to where they were used
    lost,                // buffers were made one after the other, and no handle of them is left to end them by
    untracked_writes,    // writes are not found in the process, so all that pointers reach counts as written
};

UNIBUF_API std::string_view to_string(fault kind) noexcept;

/// A fault at one place of a program.
struct finding {
    fault kind;
    std::uint64_t site = 0;    // event::site, of the line to change
    std::uint64_t buffer = 0;  // one that it was seen with
    std::uint64_t times = 0;   // how often
    std::uint64_t bytes = 0;   // that were moved, or allocated, and need not have been
    std::uint64_t took = 0;    // ns that this took
    std::string evidence;      // what was seen, as a sentence
    std::string change;        // what to change, as a sentence
};

/// Returns what could be better, untracked_writes first, then what took longest. That one, round_trip,
/// mark_without_write and long_lease show in close traces alone, and so does whole_for_part where all was used but
/// little had changed. What costs less than 64 KiB and 1 ms in all is left out, and so is a lease or a mark that
/// changes something more than once, and more than one time in ten. A wait is for one of the 1,000 leases that ended
/// last before its end.
UNIBUF_API std::vector<finding> diagnose(std::span<const event> events, const trace_file& names = {});

/// Returns sentences about a buffer, oldest first: who wrote and used which bytes where, what was moved for that and
/// why, and what was moved without need. `names` may be empty, as of a recorder's events.
UNIBUF_API std::vector<std::string> why(std::span<const event> events, std::uint64_t buffer,
                                        const trace_file& names = {});

}  // namespace unibuf
