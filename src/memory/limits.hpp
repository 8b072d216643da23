// memory/limits.hpp: copies at devices, which may have to go where others need their memory.
//
// What is current elsewhere goes first, then what was used least recently, after its newest bytes have been written
// back to the host. Memory that is leased stays, and so does that of which device() has given out a handle. Whoever
// holds a view of it is asked to let go when it is its turn, where that is known.
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

using clock = std::chrono::steady_clock;

/// What keeps a copy where it is.
enum class obstacle : std::uint8_t {
    none,
    absent,  // there is none that could go: it is memory of another, or the host's only one
    held,    // this thread has a lease, or somebody a handle of device(), or a pointer
    viewed,  // as held, but by views alone, of which somebody can be asked to let go
    busy,    // other threads use it, and will end
};

/// A buffer with memory at devices, in the list of all such.
class resident {
public:
    struct departure {
        obstacle why = obstacle::none;
        bool current_elsewhere = false;
        clock::time_point used{};  // last
    };

    /// What is in the way of dropping the copy at `where`. Waits for nobody.
    virtual departure may_go(space where) noexcept = 0;

    /// Asks the holders of views of the copy at `where` to let go. False where any of them stays. Holds no lock.
    virtual bool ask_to_let_go(space where) = 0;

    /// Drops the copy at `where`; the host gets what is newest there. The bytes that were freed: 0 where something has
    /// come in between. Throws error(timeout) where work is still queued on it at the deadline.
    virtual std::uint64_t evict(space where, clock::time_point deadline) = 0;

    /// Keeps it until the handle is given back; false where it is on its way out.
    virtual bool add_handle_if_alive() noexcept = 0;
    virtual void give_handle_back() noexcept = 0;

    // Its neighbours in the list, for `residents` alone.
    resident* before = nullptr;
    resident* after = nullptr;

protected:
    resident() = default;
    ~resident() = default;
};

/// Any thread.
class residents {
public:
    static residents& instance();

    void add(resident& added) noexcept;
    void remove(resident& gone) noexcept;

    struct outcome {
        std::uint64_t freed = 0;
        unsigned held = 0;    // copies that could not go
        bool busy = false;    // some may go soon
        std::string failure;  // of the last that could not be written back
    };

    /// Drops copies at `where` of others than the one that is `asking`, until so many `bytes` are free, or nothing more
    /// can go. Waits for work that is queued on them until the deadline. The caller holds no buffer's lock.
    outcome make_room(space where, std::uint64_t bytes, clock::time_point deadline, const resident* asking = nullptr);

private:
    std::mutex mutex_;
    resident* first_ = nullptr;
};

/// For `bytes` more at `where`: others go for that.
class room {
public:
    /// Within the limit. Throws error(out_of_memory), which tells what is in the way.
    room(const resident& asking, space where, std::uint64_t bytes, clock::time_point deadline);

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

    const resident& asking_;
    space where_;
    std::uint64_t bytes_;
    clock::time_point deadline_;
    clock::time_point others_end_;  // their leases, or they are not waited for
    residents::outcome tried_;
    bool kept_ = false;
};

}  // namespace unibuf::detail
