// unibuf/statistics.hpp: what was moved, and why; what is held.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "unibuf/export.hpp"
#include "unibuf/space.hpp"

namespace unibuf {

/// A cause says why bytes were moved: which access needed them.
enum class cause : std::uint8_t { read, read_write, host_pointer, device_handle, sync, prefetch, copy_to, eviction };

UNIBUF_API std::string_view to_string(cause why) noexcept;

/// The way that bytes went.
enum class transfer_route : std::uint8_t {
    direct,   // one copy, where pinning makes no difference
    pinned,   // from or to pinned memory of the host
    staged,   // through pinned memory of unibuf's own, as that of the host is not pinned
    by_host,  // between two devices, carried by the host, as they do not reach each other
};

UNIBUF_API std::string_view to_string(transfer_route route) noexcept;

/// The transfers of one kind so far.
struct transfer_count {
    space from;
    space to;
    cause why = cause::read;
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;
};

struct statistics {
    std::vector<transfer_count> transfers;
    std::uint64_t publications = 0;  // shared memory made visible: no byte moved
    std::uint64_t fence_waits = 0;   // times that the host stopped for a device
    std::uint64_t evictions = 0;     // copies that were dropped because others needed their memory

    UNIBUF_API std::uint64_t bytes_moved() const noexcept;
    UNIBUF_API std::uint64_t transfers_made() const noexcept;
};

/// Returns the figures of all buffers since the process began, or since the last reset, as a snapshot. Any thread.
UNIBUF_API statistics total_statistics();
UNIBUF_API void reset_statistics();

/// Bytes of memory that all buffers together hold. Shared placement counts once, at the space that allocated it.
struct memory_usage {
    std::uint64_t held = 0;
    std::uint64_t peak = 0;  // since the process began, or since reset_peak_memory
    std::uint64_t limit = no_memory_limit;
};

UNIBUF_API memory_usage memory_in(space where);
UNIBUF_API memory_usage memory_in_all();
UNIBUF_API void reset_peak_memory();

/// One transfer, as an observer sees it.
struct transfer {
    std::uint64_t buffer = 0;  // buffer::id()
    space from;
    space to;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    cause why = cause::read;
    std::chrono::steady_clock::time_point begin;  // when it was asked of the backend
    std::chrono::steady_clock::time_point end;    // when the call returned; queued work may still go on
};

/// Sees every transfer after it was made, on the thread that made it. It must not touch the buffer.
class UNIBUF_API transfer_observer {
public:
    virtual ~transfer_observer();
    virtual void on_transfer(const transfer& made) noexcept = 0;
};

/// Makes `observer` the one observer, or none with null. It must outlive its use; transfers under way on other threads
/// may still reach the observer before it for a moment.
UNIBUF_API void set_transfer_observer(transfer_observer* observer) noexcept;

}  // namespace unibuf
