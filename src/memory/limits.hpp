// memory/limits.hpp: copies at devices, which may have to go where others need their memory.
//
// Copies that are current elsewhere go first, then those that were used least recently, after their newest bytes have
// been written back to the host. Copies that are leased stay, and so do those of which device() has given out a handle.
// The holder of a view, where one is known, is asked to let go of it when the copy is the next to go.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/spaces.hpp"
#include "containers/few.hpp"
#include "memory/usage.hpp"
#include "memory/wait_limit.hpp"
#include "process/mutex.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

/// How long an access that lacks memory waits for leases of other threads: they end by themselves, but two that wait
/// for each other's memory do not. What the access sleeps between two looks is counted, not the clock: where the whole
/// process stands still, leases do not end, either. Tests set it.
inline constinit std::atomic<std::chrono::nanoseconds> patience_for_memory{std::chrono::seconds(1)};

/// How long drivers have in all to say that the work on copies is done, before copies are passed over that were used
/// less recently than others: the answer takes a moment also where the work is long done. Tests set it.
inline constinit std::atomic<std::chrono::nanoseconds> patience_for_answers{std::chrono::milliseconds(1)};

/// An obstacle keeps a copy where it is.
enum class obstacle : std::uint8_t {
    none,
    absent,  // no copy could go: there is none, or its memory is another's, or it is the host's only one
    leased,  // by this thread
    held,    // somebody has a handle of device(), or a pointer, or it is bound
    viewed,  // held by views alone, some of whose holders can be asked to let go
    busy,    // other threads use it, and will end
};

/// Numbers uses in their order, of all buffers together.
inline constinit std::atomic<std::uint64_t> last_use = 1;

/// Makes `used` the number of a use now. A buffer that no other was used after keeps its number.
inline void use_now(std::uint64_t& used) noexcept {
    if (used != last_use.load(std::memory_order_relaxed)) used = last_use.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// A buffer with memory at devices. All such buffers are in one list.
class resident {
public:
    /// What is in the way of dropping a copy.
    struct departure {
        std::uint64_t buffer = 0;
        space where = host;
        std::uint64_t bytes = 0;  // that the copy holds
        obstacle why = obstacle::none;
        bool current_elsewhere = false;
        std::uint64_t used = 0;  // the number of the buffer's last use
        bool is_kept = false;    // work that was waited for in vain is queued on the buffer still
    };
    using departures = few<departure, 4>;

    /// Adds what is in the way of dropping each copy at these spaces. Waits for nobody: returns false where another
    /// thread is at work.
    virtual bool look(coherence::space_set at, departures& to) = 0;

    /// Asks the holders of views of the copy at `where` to let go. Returns false where any of them stays. Holds no
    /// lock.
    virtual bool ask_to_let_go(space where) = 0;

    /// Drops the copy at `where`; the host gets what is newest there. Returns the bytes that were freed: 0 where
    /// something has come in between. Throws error(timeout) where work is still queued on it at the end of `limit`.
    virtual std::uint64_t evict(space where, const wait_limit& limit) = 0;

    /// Keeps the buffer until the handle is given back. Returns false where the buffer is on its way out.
    virtual bool add_handle_if_alive() noexcept = 0;
    virtual void give_handle_back() noexcept = 0;

protected:
    resident() = default;
    ~resident() = default;
};

/// All residents. Any thread.
///
/// The copies that can go stand in line, for each space that has lacked room. A buffer tells of each change of it,
/// leaves the lines, and is looked at anew when somebody next needs room: so an eviction asks those that have changed,
/// and no others. One whose work has kept it stands behind all others, until it has other work.
class residents {
    struct in_line {
        bool is_kept = false;
        bool is_newest_alone = false;
        std::uint64_t used = 0;

        friend auto operator<=>(const in_line&, const in_line&) = default;
    };
    struct waiting {
        resident* of;
        bool viewed;  // somebody may be asked to let go
    };
    using line = std::map<in_line, waiting>;

    /// Where a buffer stands in line, or may stand again: nodes of lines are kept, as a program that lacks room at a
    /// device moves buffers in and out of its line all the time.
    struct place_in_line {
        coherence::space_id where;
        line::iterator at;
        line::node_type kept;  // empty while it stands there
    };
    struct standing {
        std::atomic<bool> is_current = false;  // the buffer has not changed since it was looked at
        few<place_in_line, 1> places;
    };

public:
    struct entry {
        explicit entry(resident& which) noexcept : of(&which) { use_now(used); }
        ~entry() { delete stands.load(); }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        bool is_current() const noexcept {
            const standing* const found = stands.load(std::memory_order_acquire);
            return found && found->is_current.load(std::memory_order_relaxed);
        }

        resident* of;
        std::uint64_t used = 0;                  // see use_now(). The buffer's lock guards it
        std::atomic<standing*> stands{nullptr};  // null where it was never looked at
    };
    using place = std::list<entry>::iterator;

    static residents& instance();

    /// Adds a buffer, which is used now.
    place add(resident& added);
    void remove(place gone) noexcept;

    /// Notes that the buffer's copies, or those who hold them, may be others now. Its lock is held.
    void note_change(place of) noexcept {
        if (of->is_current()) move_to_changed(of);
    }

    struct outcome {
        std::uint64_t freed = 0;
        unsigned held = 0;                           // copies that could not go
        std::vector<resident::departure> largest{};  // of those that are there, which hold most
        bool busy = false;                           // some copies may go soon
        std::string failure;                         // message of the last copy that could not go
    };

    /// Drops copies at `where` of other buffers than `asking`, until so many `bytes` are free, or nothing more can go.
    /// Waits for work that is queued on them, within `limit`. The caller holds no buffer's lock.
    outcome make_room(space where, std::uint64_t bytes, const wait_limit& limit, const resident* asking = nullptr);

private:
    struct candidate;

    void move_to_changed(place of) noexcept;
    void leave_lines(entry& of) noexcept;
    static place_in_line& place_of(standing& of, coherence::space_id where);
    bool join_lines(entry& of);
    void keep_line(space where);
    void look_at_changed();
    candidate next_in_line(space where, const std::optional<in_line>& tried, std::uint64_t newest,
                           const resident* asking);
    void evict_in_line(space where, std::uint64_t bytes, const wait_limit& limit, std::uint64_t newest,
                       const resident* asking, outcome& so_far);
    std::vector<candidate> all_candidates(space where, std::uint64_t newest, const resident* asking, outcome& so_far);

    process::mutex mutex_;
    std::list<entry> changed_;
    std::list<entry> looked_at_;
    coherence::space_set lacked_room_ = 0;  // the spaces that have lines
    std::array<line, max_spaces> lines_;
};

/// A reservation of `bytes` more at `where`. Copies of other buffers go for it.
class room {
public:
    /// Reserves within the limit. Throws error(out_of_memory), which tells what is in the way.
    room(const resident& asking, space where, std::uint64_t bytes, const wait_limit& limit);

    /// Gives the reservation back, unless the memory was kept.
    ~room();
    room(const room&) = delete;
    room& operator=(const room&) = delete;

    /// Calls allocate() until the device has that much, while copies of others go.
    template <class Allocate>
    std::unique_ptr<backends::memory> fill(Allocate allocate) {
        for (;;) {
            try {
                auto made = allocate();
                keep_peak_memory(where_);
                kept_ = true;
                return made;
            } catch (const error& failure) {
                if (failure.code() != error_code::out_of_memory) throw;
                if (!make(bytes_)) refuse(std::string(failure.message()));
            }
        }
    }

private:
    /// Makes copies of others go. Returns false where nothing more can go.
    bool make(std::uint64_t bytes);
    [[noreturn]] void refuse(std::string why) const;

    const resident& asking_;
    space where_;
    std::uint64_t bytes_;
    wait_limit limit_;
    std::optional<std::chrono::nanoseconds> patience_;  // what is left of it; set where room lacks
    std::chrono::microseconds next_nap_{100};           // between two looks at others, who may end their leases
    residents::outcome tried_;
    bool kept_ = false;
};

}  // namespace unibuf::detail
