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
#include <forward_list>
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
    given,   // the program's own memory, which frees nothing
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
        std::uint64_t used = 0;     // the number of the buffer's last use
        bool is_postponed = false;  // work that was waited for in vain is queued on the buffer still
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
/// The copies that can go are listed, for each space that has lacked room, in the order in which they go. A buffer
/// tells of each change of it, is taken off the lists, and is looked at anew when somebody next needs room: so an
/// eviction asks those that have changed, and no others; the first one at a space asks all. One whose work has kept it
/// comes behind all others, until it has other work.
class residents {
    struct rank {
        bool is_postponed = false;
        bool is_newest_alone = false;
        std::uint64_t used = 0;

        friend auto operator<=>(const rank&, const rank&) = default;
    };
    struct leaver {
        resident* buffer;
        bool viewed;  // somebody may be asked to let go
    };
    using list = std::map<rank, leaver>;

    /// The place of a buffer's copy on the list of a space. The node is kept while the copy is not listed: where room
    /// lacks, copies are listed and taken off all the time.
    struct listing {
        coherence::space_id where;
        list::iterator at;      // where it is listed
        list::node_type spare;  // empty while it is listed
    };
    struct listings {
        std::atomic<bool> is_looked_at = false;  // and has not changed since
        std::forward_list<listing> of_spaces;
    };

public:
    struct entry {
        explicit entry(resident& which) noexcept : buffer(&which) { use_now(used); }
        ~entry() { delete listed.load(); }
        entry(const entry&) = delete;
        entry& operator=(const entry&) = delete;

        bool is_looked_at() const noexcept {
            const listings* const found = listed.load(std::memory_order_acquire);
            return found && found->is_looked_at.load(std::memory_order_relaxed);
        }

        resident* buffer;
        std::uint64_t used = 0;                  // see use_now(). The buffer's lock guards it
        std::atomic<listings*> listed{nullptr};  // null where it was never looked at
    };
    using place = std::list<entry>::iterator;

    static residents& instance();

    /// Adds a buffer, which is used now.
    place add(resident& added);
    void remove(place gone) noexcept;

    /// Notes that the buffer's copies, or those who hold them, may be others now. Its lock is held.
    void note_change(place which) noexcept {
        if (which->is_looked_at()) move_to_changed(which);
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

    void move_to_changed(place which) noexcept;
    void take_off_lists(entry& which) noexcept;
    static listing& listing_in(listings& all, coherence::space_id where);
    bool put_on_lists(entry& which);
    void keep_list(space where);
    void look_at_changed();
    candidate next_listed(space where, const std::optional<rank>& tried, std::uint64_t newest, const resident* asking);
    void evict_listed(space where, std::uint64_t bytes, const wait_limit& limit, std::uint64_t newest,
                      const resident* asking, outcome& so_far);
    std::vector<candidate> all_candidates(space where, std::uint64_t newest, const resident* asking, outcome& so_far);

    process::mutex mutex_;
    std::list<entry> changed_;
    std::list<entry> looked_at_;
    coherence::space_set lacked_room_ = 0;  // the spaces that have lists
    std::array<list, max_spaces> lists_;
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
