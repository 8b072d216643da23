// coherence/plan.hpp: where it is decided what moves. Pure: no memory, no lock, no clock, no device.
//
// An access is answered with steps. Whoever runs them reports each one that is done (`complete`) and, when all are,
// that the access is granted (`wrote`, `expose`). A step that fails changes nothing, so after any failure the directory
// is true: as before, or better by the steps that were done.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "coherence/directory.hpp"
#include "unibuf/options.hpp"

namespace unibuf::coherence {

/// Device work that may still be under way on a range.
struct queued_work {
    std::uint64_t ticket = 0;
    byte_range range{};
    space_id where = host;
    bool writes = false;
};

struct step {
    enum class kind : std::uint8_t {
        wait,     // until the work `ticket` is done, or ordered before what comes next
        move,     // copy bytes from one memory to another
        publish,  // one memory, two spaces: make what one wrote visible to the other, which will do `what` with it
        zero,     // make bytes that nobody has written zero
    };

    kind does = kind::wait;
    byte_range range{};
    space_id from = host;
    space_id to = host;
    access what = access::read;
    std::uint64_t ticket = 0;
    bool found_later = false;  // of a publication to write: those that were current stay so, until writes are found

    /// The same, on another range.
    bool is_like(step other) const noexcept {
        other.range = range;
        return other == *this;
    }

    friend bool operator==(const step&, const step&) = default;
};

/// The steps that give the space `where` the right to do `what` with `range`.
///
/// No byte moves that is current there already, or that is about to be overwritten whole. Adjacent pieces that need the
/// same are one step.
std::vector<step> plan(const directory& known, const sharing& memories, std::span<const queued_work> queued,
                       byte_range range, space_id where, access what);

/// `done` has been carried out, on all of `ranges`.
void complete(directory& known, const sharing& memories, const step& done, const byte_ranges& ranges);
void complete(directory& known, const sharing& memories, const step& done);

/// The space `where` holds the newest content of `range` from now on, and nobody else does.
void wrote(directory& known, byte_range range, space_id where);

/// Pointers to the host's copy of `range` are out, or no longer, and this is known of what is written through them.
void expose(directory& known, const byte_ranges& ranges, pointers how);

bool any_exposed(const directory& known);

/// Where nobody finds out what was written through pointers, the host counts as written.
void assume_host_writes(directory& known, byte_range range);

/// `ranges` were written through pointers. Where a space has newer content than the host, both stay, and are contested.
void found_host_writes(directory& known, const byte_ranges& ranges);

/// Of two newest versions, that of `where` goes; nothing happens where there are none.
void settle_without(directory& known, byte_range range, space_id where);

/// The first piece of `range` that is contested. Empty where there is none.
byte_range contested_in(const directory& known, byte_range range);

/// The part of `range` whose only current copy is at `where`, or which pointers into that copy may yet make so: it must
/// not be dropped. Empty where there is none.
byte_range only_at(const directory& known, byte_range range, space_id where);

/// The space `where` no longer holds `range`; only_at is empty.
void drop(directory& known, byte_range range, space_id where);

/// A memory that two spaces use in turns was `from`'s and is `to`'s now, with all that is current in it.
void hand_over(directory& known, space_id from, space_id to);

/// What was on its way to the space `where` has failed: `range` is not current there, and where it was nowhere else, it
/// is lost.
void did_not_arrive(directory& known, byte_range range, space_id where);

/// The first piece of `range` that is lost. Empty where there is none.
byte_range lost_in(const directory& known, byte_range range);

/// Nobody has written `range` any more.
void drop_content(directory& known, byte_range range);

}  // namespace unibuf::coherence
