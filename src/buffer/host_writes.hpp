// buffer/host_writes.hpp: what the program writes through pointers into the host's copy, found and told to the
// directory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "coherence/directory.hpp"
#include "tracking/policy.hpp"
#include "tracking/watch.hpp"
#include "unibuf/options.hpp"

namespace unibuf::detail {

/// Of one buffer, from the first pointer on. Not thread-safe: the buffer's lock guards it.
///
/// What is found in a unit (a page, or a line) may lie outside the range of the access that looks: others may be moving
/// those bytes right now. It is kept until an access of them takes it.
class host_writes {
public:
    /// `by` is null where writes are not found: then the host is taken for written.
    host_writes(std::span<std::byte> host, std::unique_ptr<tracking::watch> by);

    // Pointers that are out: those of host(), which end all at once, and those of views. What is written through those
    // that have ended is found by the next access of those bytes: then the directory knows that they have.
    void hold(byte_range range, bool by_view);
    void let_go_view(byte_range range) noexcept;
    void let_go_pointers(byte_range range);
    bool held(byte_range range) const noexcept;

    /// By a pointer of host() that covers all of it.
    bool held_for_good(byte_range range) const noexcept;

    /// Pointers into `range`, of which the host's copy is current, are given out. `untouched`: nobody has written that
    /// copy since it was allocated, and it was zero then.
    void expose(coherence::directory& known, byte_range range, bool untouched);

    /// Bytes that nobody has written have no value that a write could leave as it was.
    void values_are_unknown() noexcept { values_known_ = false; }

    /// The host has become current in some of `range`: what is held of that is exposed again.
    void expose_again(coherence::directory& known, byte_range range);

    bool any_held() const noexcept { return !holders_.empty(); }

    /// Before an access: tells what was written of `range` until now. Where it is not at the host, it is settled what
    /// is watched until the next one, and that begins now, before any byte is copied.
    void find(coherence::directory& known, byte_range range, space where, access what);

    /// The state as it is now, with what was written everywhere.
    coherence::directory look(coherence::directory& known);

    /// A device is about to be the only one that is current in `range`; what was found until now has been told. Writes
    /// of the host are conflicts from now on; not where they `share` the memory, where nobody can tell them from the
    /// device's own.
    void before_device_writes(coherence::directory& known, byte_range range, bool share);

    /// Forgets what was written of `range` until now: somebody has said what stands.
    void forget(const coherence::directory& known, byte_range range);

    /// While unibuf itself writes `range` of the host's copy: so that this is not taken for the program's writes, and
    /// the program's own beside it are not lost.
    class own_write {
    public:
        own_write(host_writes& in, const coherence::directory& known, byte_range range);
        ~own_write();
        own_write(own_write&& other) noexcept;
        own_write& operator=(own_write&& other) noexcept;

    private:
        struct edge {
            byte_range unit;
            std::vector<std::byte> before;
        };

        host_writes* in_ = nullptr;
        byte_range range_{};
        std::vector<byte_range> inner_;
        std::vector<edge> edges_;
    };

private:
    /// A unit of which a device has newer content in some bytes, as the host had it then: it tells whether the program
    /// has written those, or others of the unit.
    struct twin {
        byte_range unit;
        std::vector<std::byte> bytes;
    };
    struct holder {
        byte_range range;
        bool view;
    };

    byte_range whole() const noexcept { return {0, host_.size()}; }
    byte_range around(byte_range range) const noexcept;
    byte_range within(byte_range range) const noexcept;
    std::vector<byte_range> edges_of(byte_range range) const;

    void collect(const coherence::directory& known, byte_range range);
    void apply(coherence::directory& known, byte_range range);
    void apply_to(coherence::directory& known, byte_range found);
    void end_free(coherence::directory& known, byte_range range);
    void decide(coherence::directory& known, byte_range part, const std::vector<byte_range>& found);
    void arm(const coherence::directory& known, byte_range range);
    void make_twin(const coherence::directory& known, byte_range unit, byte_range part);
    void give_up(coherence::directory& known);

    std::span<std::byte> host_;
    std::unique_ptr<tracking::watch> watch_;
    bool values_known_ = true;
    std::vector<holder> holders_;
    std::vector<byte_range> pending_;  // found, and not told yet
    std::vector<twin> twins_;
    std::vector<tracking::part_history> parts_;
};

}  // namespace unibuf::detail
