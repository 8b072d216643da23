// coherence/knowledge.hpp: what is known of bytes.
#pragma once

#include <cstdint>

#include "coherence/spaces.hpp"

namespace unibuf::coherence {

enum class content : std::uint8_t {
    unwritten,  // nobody has written these bytes: they are zero for every reader
    settled,    // written, and in step with another space since
    written,    // written by the one space that is current
};

/// Pointers into the host's copy, through which it may be written at any time, without a word.
enum class pointers : std::uint8_t {
    none,     // no pointers are out
    assumed,  // pointers are out: as long as the host is current, it is taken for written
    watched,  // pointers are out, and what is written through them is found
    fresh,    // pointers are out into memory that nobody had touched before: what is touched is written
};

/// The knowledge of a range of bytes.
struct knowledge {
    space_set current = 0;  // the spaces that see the newest content
    content what = content::unwritten;
    pointers host_pointers = pointers::none;

    /// The one device that is current may write these bytes at any time, without a word.
    bool open : 1 = false;

    /// The work that was to make these bytes has failed: nobody reads them before they are written.
    bool lost : 1 = false;

    /// The host was written, too: nobody reads these bytes before it is said which of the two stands.
    bool contested : 1 = false;

    /// A digest is kept of what the devices that are current hold (tracking/digests.hpp).
    bool digested : 1 = false;

    bool exposed() const noexcept { return host_pointers != pointers::none; }
    bool watched() const noexcept { return host_pointers == pointers::watched; }
    bool at_host() const noexcept { return has(current, host); }

    /// Returns whether a store of the program's would be a conflict: a device alone has the newest.
    bool stores_conflict() const noexcept { return watched() && !at_host(); }

    bool taken_for_written() const noexcept { return host_pointers == pointers::assumed && at_host(); }

    friend bool operator==(const knowledge&, const knowledge&) = default;
};
static_assert(sizeof(knowledge) == 8, "one for each range of each buffer");

/// The knowledge of many bytes together.
struct summary {
    space_set current = 0;     // the spaces that are current in all of them
    space_set written_by = 0;  // the one space that wrote all of them, if one did
    bool all_exposed = true;
    bool all_assumed = true;  // all are pointers::assumed
    bool any_exposed = false;
    bool any_open = false;
    bool any_lost = false;
    bool any_contested = false;

    /// Returns whether `where` alone is current in all bytes, and has written them.
    bool written_at(space_id where) const noexcept { return written_by == set_of(where); }

    /// Joins what is known of other bytes.
    void add(const summary& other) noexcept {
        current &= other.current;
        if (written_by != other.written_by) written_by = 0;
        all_exposed &= other.all_exposed;
        all_assumed &= other.all_assumed;
        any_exposed |= other.any_exposed;
        any_open |= other.any_open;
        any_lost |= other.any_lost;
        any_contested |= other.any_contested;
    }

    friend bool operator==(const summary&, const summary&) = default;
};

/// Returns the summary of bytes that are known alike.
inline summary summary_of(const knowledge& k) noexcept {
    return {.current = k.current,
            .written_by = k.what == content::written ? k.current : space_set{0},
            .all_exposed = k.exposed(),
            .all_assumed = k.host_pointers == pointers::assumed,
            .any_exposed = k.exposed(),
            .any_open = k.open,
            .any_lost = k.lost,
            .any_contested = k.contested};
}

}  // namespace unibuf::coherence
