// coherence/plan.hpp: where it is decided what moves. Pure: no memory, no lock, no clock, no device.
//
// An access is answered with steps. Whoever runs them reports each one that is done (`complete`) and, when all are,
// that the access is granted (`wrote`, `expose`): see transitions.hpp. A step that fails changes nothing, so after any
// failure the directory is true: as before, or better by the steps that were done.
#pragma once

#include <cstdint>
#include <vector>

#include "coherence/directory.hpp"
#include "coherence/range_tree.hpp"
#include "containers/few.hpp"
#include "unibuf/options.hpp"

namespace unibuf::coherence {

constexpr bool reads(access what) noexcept { return what != access::write; }
constexpr bool writes(access what) noexcept { return what != access::read; }

/// Names queued work, for whoever keeps it.
struct work_ticket {
    std::uint64_t number = 0;  // greater for later work; 0 names none
    const void* at = nullptr;  // where the work is kept

    friend bool operator==(const work_ticket&, const work_ticket&) = default;
};

/// Device work that may still be under way on a region.
struct queued_work {
    work_ticket ticket{};
    region part{};
    space_id where = host;
    bool writes = false;

    byte_range range() const noexcept { return part.hull(); }
};

struct queued_node : queued_work {
    range_links<queued_node> links{};
};
using queued_works = range_index<queued_node>;

struct step {
    enum class kind : std::uint8_t {
        wait,     // wait until the work `ticket` is done, or ordered before what comes next
        move,     // copy bytes from one memory to another
        publish,  // make what one of two spaces with one memory wrote visible to the other, which will do `what` with
                  // it
        zero,     // make bytes that nobody has written zero
    };

    kind does = kind::wait;
    region part{};
    space_id from = host;
    space_id to = host;
    access what = access::read;
    work_ticket ticket{};
    bool seen = false;         // with a publication: `to` sees the newest content already, or it is to be overwritten
    bool found_later = false;  // with a publication to write: `from` stays current, as writes will be found
    bool digested = false;     // with a move from the host: a digest is kept of what was sent

    /// Returns whether bytes move from the host.
    bool is_sent() const noexcept { return does == kind::move && from == host; }

    /// Returns whether `other` is the same step on other bytes.
    bool is_like(step other) const noexcept {
        other.part = part;
        return other == *this;
    }

    friend bool operator==(const step&, const step&) = default;
};

using steps = few<step, 2>;

/// A request asks the planner for the right of the space `where` to do `what` with `part`.
struct plan_request {
    region part{};
    space_id where = host;
    access what = access::read;

    /// These spaces stay current in memory that they share with `where`: what is written there will be found.
    space_set found_later = 0;

    /// The spaces that share the memory of `where` stay current until the bytes are written, if they are: a device may
    /// have bytes of its own behind the host's, and what it is to overwrite is not brought there.
    bool stay = false;

    /// The program may write the bytes there at any time afterwards: work that reads them is waited for, too.
    bool handed_out = false;
};

/// Adds the steps that grant the request to `to`.
///
/// No byte moves that is current there already, or that is about to be overwritten whole. Pieces that are one
/// range or box together, and need the same step, share one. REQUIRES: no byte is open elsewhere (knowledge::open).
void plan(const directory& map, const sharing& memories, const queued_works& queued, const plan_request& request,
          steps& to);

/// Returns the steps that grant the request.
std::vector<step> plan(const directory& map, const sharing& memories, const queued_works& queued,
                       const plan_request& request);

/// Returns the space whose backend carries out `step`.
inline space_id executor_of(const step& step) noexcept { return step.to == host ? step.from : step.to; }

/// Returns the one device that carries out all moves among the steps, each from or to memory of its own; the host where
/// there is none.
space_id only_mover(std::span<const step> planned) noexcept;

/// Adds the steps to `to` after which nothing is under way on `part` any more.
void plan_to_drop(const queued_works& queued, const region& part, steps& to);

/// Returns those of the spaces `allocated`, which have a copy, that have all of `part`.
space_set complete_at(const directory& map, const region& part, space_set allocated);

/// Returns where `part` is filled without fetching any of it: at a device if one has all of it, else at the host.
/// `allocated` are the spaces that have a copy.
space_id place_to_fill(const directory& map, const region& part, space_set allocated);

}  // namespace unibuf::coherence
