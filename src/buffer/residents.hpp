// buffer/residents.hpp: buffers with memory at devices, which may have to go where others need it.
//
// What is current elsewhere goes first, then what was used least recently, after its newest bytes have been written
// back to the host. Memory that is leased stays, and so does that of which device() has given out a handle.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backends/backend.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

class core;

using clock = std::chrono::steady_clock;

/// Of one buffer, in the list of all.
struct resident_links {
    core* before = nullptr;
    core* after = nullptr;
};

/// What keeps a copy where it is.
enum class obstacle : std::uint8_t {
    none,
    absent,  // there is none that could go: it is memory of another, or the host's only one
    held,    // this thread has a lease, or somebody a handle of device(), or a pointer
    busy,    // other threads use it, and will end
};

/// Any thread.
class residents {
public:
    static residents& instance();

    void add(core& of) noexcept;
    void remove(core& of) noexcept;

    struct outcome {
        std::uint64_t freed = 0;
        unsigned held = 0;    // copies that could not go
        bool busy = false;    // some may go soon
        std::string failure;  // of the last that could not be written back
    };

    /// Drops copies at `where` of others than the one that is `asking`, until so many `bytes` are free, or nothing more
    /// can go. Waits for work that is queued on them until the deadline. The caller holds no buffer's lock.
    outcome make_room(space where, std::uint64_t bytes, clock::time_point deadline, const core* asking = nullptr);

private:
    std::mutex mutex_;
    core* first_ = nullptr;
};

/// For `bytes` more at `where`: others go for that.
class room {
public:
    /// Within the limit. Throws error(out_of_memory), which tells what is in the way.
    room(const core& asking, space where, std::uint64_t bytes, clock::time_point deadline);

    /// Counted no longer, unless it was kept.
    ~room();
    room(const room&) = delete;
    room& operator=(const room&) = delete;

    /// Calls allocate() until the device has that much.
    template <class Allocate>
    std::unique_ptr<backends::memory> fill(Allocate allocate) {
        for (;;) {
            try {
                auto made = allocate();
                kept_ = true;
                return made;
            } catch (const error& failure) {
                if (failure.code() != error_code::out_of_memory) throw;
                if (!make(bytes_)) refuse(failure.what());
            }
        }
    }

private:
    /// False where nothing more can go.
    bool make(std::uint64_t bytes);
    [[noreturn]] void refuse(std::string why) const;

    const core& asking_;
    space where_;
    std::uint64_t bytes_;
    clock::time_point deadline_;
    clock::time_point others_end_;  // their leases, or they are not waited for
    residents::outcome tried_;
    bool kept_ = false;
};

}  // namespace unibuf::detail
