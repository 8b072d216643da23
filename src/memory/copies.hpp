// memory/copies.hpp: the copies of one buffer, and how each space comes by its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "coherence/spaces.hpp"
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
    static constexpr std::uintptr_t used = 1;  // an object's address is even; one that is owned is a plain pointer

    std::uintptr_t bits_ = 0;
};

struct copy {
    coherence::space_id where = coherence::host;
    bool untouched = true;  // nothing was written to it since it was allocated
    unibuf::placement placed = placement::mirrored;
    coherence::space_id lender = coherence::host;  // whose memory it is, of the host's copy and of shared ones
    bool has_turn = false;                         // with memory that it borrows
    /// What few copies have.
    struct aside {
        held_memory lent;    // by a copy that needs it no longer
        std::string remark;  // on what was wanted and could not be had
    };
    std::unique_ptr<aside> beside;  // goes after `memory`
    held_memory memory;

    void remark(std::string what) {
        if (!beside) beside = std::make_unique<aside>();
        beside->remark = std::move(what);
    }

    /// Of the host, or of the host in the place of a device.
    bool on_host() const noexcept;

    /// Whether it takes turns with another device, whose memory it is: only one of the two holds content at a time.
    bool borrows() const noexcept { return placed == placement::shared && lender != coherence::host; }

    /// Of one that borrows: whose turn it is.
    coherence::space_id holder() const noexcept { return has_turn ? where : lender; }

    /// Where a program on the host may touch it; null where it may not, also where it is the host's own memory, used in
    /// place: it is the host's then, and not the device's.
    std::byte* address() const noexcept;

    /// What the API of its space calls it: of the host, an address, also where a device lends the memory.
    std::uintptr_t handle() const noexcept;
};

/// A host copy that is memory which was there before.
std::vector<copy> host_copy_of(std::unique_ptr<backends::memory> memory);

class resident;

/// Not thread-safe: the buffer's lock guards it. Memory that is under a transfer stays where it is while others are
/// added.
class copies {
public:
    copies(std::size_t bytes, const buffer_options& options) noexcept : bytes_(bytes), options_(options) {}
    ~copies() { free_all(); }
    copies(const copies&) = delete;
    copies& operator=(const copies&) = delete;

    copy* find(coherence::space_id where) noexcept;
    const copy* find(coherence::space_id where) const noexcept;

    /// The copy for `where`, which has none, and one for the host where it needs that: with memory that host and device
    /// share where that is wanted and can be had. They are to be added. Takes as long as the backend takes, and needs
    /// no lock as long as nobody adds or frees. Throws what the backend throws. `asking` is the buffer: others may have
    /// to make room, until the deadline.
    std::vector<copy> prepare(coherence::space_id where, const resident& asking,
                              std::chrono::steady_clock::time_point deadline) const;

    /// Makes room for what may be prepared.
    void reserve(coherence::space_id where);
    void add(std::vector<copy> made) noexcept;

    /// The copy that borrows memory, where `where` is one of the two that take turns with it; else null.
    copy* borrower_among(coherence::space_id where) noexcept;

    /// Ends these turns: `where`, whose turn it is not, loses its copy, and the other one keeps the memory. From now on
    /// nobody borrows, and the placement of the two says `why`.
    void part(coherence::space_id where, std::string why);

    /// Whether others use the memory of the copy at `where`.
    bool used_by_others(coherence::space_id where) const noexcept;

    /// Frees the copy at `where`, unless others use its memory.
    void free(coherence::space_id where) noexcept;

    /// Frees all, those that use the memory of others first.
    void free_all() noexcept;

    /// The bytes that it holds there, as memory_in counts them.
    std::uint64_t held_at(coherence::space_id where) const noexcept;

    coherence::space_set allocated() const noexcept;
    coherence::sharing memories() const noexcept;
    const buffer_options& options() const noexcept { return options_; }
    std::size_t bytes() const noexcept { return bytes_; }  // of each: of a pool's, those of its class

    /// What is broken of what always holds: each space has one copy, with memory; those that use the memory of another
    /// copy find it here. Null where nothing is.
    const char* broken_rule() const noexcept;

    /// Of one of these copies.
    placement_info placement_of(const copy& each) const;
    bool any_poisons() const noexcept { return any_poisons_; }

    std::vector<copy>::iterator begin() noexcept { return all_.begin(); }
    std::vector<copy>::iterator end() noexcept { return all_.end(); }
    std::vector<copy>::const_iterator begin() const noexcept { return all_.begin(); }
    std::vector<copy>::const_iterator end() const noexcept { return all_.end(); }

private:
    class maker;

    struct parting {
        coherence::space_id where;
        std::string why;
    };

    /// The device that the buffer is for.
    space meant() const;

    backends::request wanted() const noexcept;

    void forget(const copy& each) const noexcept;
    void erase(coherence::space_id where) noexcept;

    std::vector<copy> all_;
    std::size_t bytes_;
    buffer_options options_;
    bool any_poisons_ = false;
    std::unique_ptr<const parting> parted_;  // null where copies may borrow
};

}  // namespace unibuf::detail
