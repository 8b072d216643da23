// memory/copies.hpp: the copies of one buffer, and how each space comes by its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/spaces.hpp"
#include "memory/wait_limit.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// Memory that a copy owns, or that it uses while another copy owns it.
class held_memory {
public:
    held_memory() noexcept = default;
    explicit held_memory(std::unique_ptr<backends::memory> own) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(own.release())) {}
    explicit held_memory(backends::memory& of_another) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(&of_another) | used) {}
    held_memory(held_memory&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
    held_memory& operator=(held_memory other) noexcept {
        std::swap(bits_, other.bits_);
        return *this;
    }
    ~held_memory() {
        if (!(bits_ & used)) delete get();
    }

    backends::memory* get() const noexcept { return reinterpret_cast<backends::memory*>(bits_ & ~used); }
    backends::memory& operator*() const noexcept { return *get(); }
    backends::memory* operator->() const noexcept { return get(); }
    explicit operator bool() const noexcept { return get() != nullptr; }

private:
    static constexpr std::uintptr_t used = 1;  // an object's address is even; owned memory is a plain pointer

    std::uintptr_t bits_ = 0;
};

struct copy {
    coherence::space_id where = coherence::host;
    bool untouched = true;  // nothing was written to it since it was allocated
    unibuf::placement placed = placement::mirrored;
    coherence::space_id lender = coherence::host;  // allocated the memory, for the host's copy and for shared ones
    bool has_turn = false;                         // it is this copy's turn with the memory that it borrows
    bool queues = false;                           // its device queues its work
    bool is_out = false;                           // the program has had a handle of it without a lease: see hand_out()
    held_memory memory;

    /// Returns whether this is a copy of the host, or of the host in the place of a device.
    bool on_host() const noexcept;

    /// Returns whether the copy takes turns with the device whose memory it is: only one of the two holds content at a
    /// time.
    bool borrows() const noexcept { return placed == placement::shared && lender != coherence::host; }

    /// Returns whose turn it is, for a copy that borrows.
    coherence::space_id whose_turn() const noexcept { return has_turn ? where : lender; }

    /// Returns where a program on the host may touch the copy; null where it may not. That is so, too, where a device
    /// uses the host's memory in place: the program touches that as the host's copy, not as the device's.
    std::byte* address() const noexcept;

    /// Returns what the API of its space calls the copy. The host's is an address, also where a device lends the
    /// memory.
    std::uintptr_t handle() const noexcept;
};

/// What few copies have beside them.
struct remark {
    coherence::space_id where = coherence::host;  // whose copy it is about
    bool ended_turns = false;  // the copy was lost as two ended their turns, and a later one takes none
    std::string text{};        // says what was wanted and could not be had
    held_memory lent{};        // memory that the copy lent, and needs no longer
};

/// Copies, the newest first. They stay where they are in memory while others are added.
struct copy_list {
    std::forward_list<remark> remarks;  // outlive the memory of the copies
    std::forward_list<copy> copies;

    void add(copy_list more) noexcept;

    /// Notes the text in the place of what was said before of the copy at `where`.
    void say(coherence::space_id where, std::string text);
    void say_nothing(coherence::space_id where) noexcept;
};

/// Makes a host copy of memory that was there before.
copy_list host_copy_of(std::unique_ptr<backends::memory> memory);

class resident;

/// All copies of one buffer. Not thread-safe: the buffer's lock guards them.
class copies {
public:
    copies(std::size_t bytes, const buffer_options& options) noexcept : bytes_(bytes), options_(options) {}
    ~copies() {
        if (!empty()) free_all();
    }
    copies(const copies&) = delete;
    copies& operator=(const copies&) = delete;

    copy* find(coherence::space_id where) noexcept;
    const copy* find(coherence::space_id where) const noexcept;

    /// Makes the copy for `where`, which has none, and one for the host where that copy needs it, with memory that host
    /// and device share where that is wanted and can be had. The caller adds them. Takes as long as the backend takes,
    /// and needs no lock as long as nobody adds or frees. Throws what the backend throws. `asking` is the buffer:
    /// others may have to make room, within `limit`.
    copy_list prepare(coherence::space_id where, const resident& asking, const wait_limit& limit) const;

    /// Makes memory of the host's own for its copy, which is there, as prepare() makes a copy.
    copy_list prepare_own_host(const resident& asking, const wait_limit& limit) const;

    /// Notes that copies that were made are not added, and that their memory goes.
    void uncount(const copy_list& made) const noexcept {
        for (const copy& each : made.copies) forget(each);
    }

    /// Returns whether the device of `where` has allocated the memory of the host's copy.
    bool lends_to_host(coherence::space_id where) const noexcept;

    /// Gives the host's copy the memory that prepare_own_host() has made, in which the content stands, and frees what
    /// was lent. REQUIRES: no device uses that.
    void replace_host(copy_list made) noexcept;

    /// Returns whether prepare() may pin the host's copy for `where`, which faults its pages in for writing.
    bool may_pin_host(coherence::space_id where) const;

    void add(copy_list made) noexcept;

    /// Returns the copy that borrows memory, where `where` is one of the two that take turns with it; else null.
    copy* borrower_among(coherence::space_id where) noexcept;
    const copy* borrower_among(coherence::space_id where) const noexcept {
        return const_cast<copies*>(this)->borrower_among(where);
    }

    /// Ends the turns of two copies: `where`, whose turn it is not, loses its copy, and the other one keeps the memory.
    /// From now on nobody borrows, and the placement of the two says `why`.
    void separate(coherence::space_id where, std::string why);

    /// Notes that the program has a handle of the copy of a device without a lease: work that nobody has a fence of may
    /// use its memory.
    void hand_out(coherence::space_id where) noexcept;

    /// Returns whether other copies use the memory of the copy at `where`.
    bool used_by_others(coherence::space_id where) const noexcept;

    /// Frees the copy at `where`, unless others use its memory.
    void free(coherence::space_id where) noexcept;

    /// Frees all copies, those that use the memory of others first.
    void free_all() noexcept {
        if (!empty()) free_each();
    }

    /// Returns the bytes that the copies hold at `where`, as memory_in counts them.
    std::uint64_t held_at(coherence::space_id where) const noexcept;

    bool empty() const noexcept { return list_.copies.empty(); }
    coherence::space_set allocated() const noexcept;
    coherence::sharing memories() const noexcept;
    const buffer_options& options() const noexcept { return options_; }
    space meant() const;                                   // the device that the buffer is for
    std::size_t bytes() const noexcept { return bytes_; }  // size of each copy: in a pool, that of the buffer's class

    /// Returns which rule is broken, or null: each space has one copy, with memory; the copies whose memory others use
    /// are among these.
    const char* broken_rule() const noexcept;

    /// Returns the placement of one of these copies.
    placement_info placement_of(const copy& each) const;
    bool any_poisons() const noexcept { return any_poisons_; }

    auto begin() noexcept { return list_.copies.begin(); }
    auto end() noexcept { return list_.copies.end(); }
    auto begin() const noexcept { return list_.copies.begin(); }
    auto end() const noexcept { return list_.copies.end(); }

private:
    class maker;

    backends::allocation_request wanted() const noexcept;

    void free_each() noexcept;
    void forget(const copy& each) const noexcept;
    void erase(coherence::space_id where) noexcept;

    /// Returns why copies may borrow no longer, or null where they may.
    const remark* ended_turns() const noexcept;

    copy_list list_;
    std::size_t bytes_;
    buffer_options options_;
    bool any_poisons_ = false;
};

}  // namespace unibuf::detail
