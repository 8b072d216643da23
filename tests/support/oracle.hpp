// support/oracle.hpp: what every byte of a buffer must be, by the simplest means: a table with a row for each byte.
//
// It also keeps which spaces surely have the newest content, so that a transfer that nobody needed shows. It never
// claims more than the buffer may: what it does not know it takes as stale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/region.hpp"
#include "support/standing_rules.hpp"

namespace unibuf::test {

class oracle {
public:
    /// Makes the table of a buffer whose unwritten bytes are zero, or `uninitialized`.
    oracle(std::size_t bytes, bool uninitialized);

    /// Notes which spaces use the host's memory, as the buffer has chosen by now.
    void share(std::uint8_t places_of_host_memory) { host_group_ = places_of_host_memory; }

    /// Notes that the first and the second device take turns with one memory, and that it is the turn of `holder`. What
    /// was current at the other one has gone along.
    void take_turns(place holder);

    void end_turns() {
        if (holder_) part();
    }

    /// Notes that each of the two devices has memory of its own from now on. Only the buffer knows which of them has
    /// kept the common memory.
    void part();

    // These note accesses that were granted.
    void read(byte_range range, place where);
    void write(byte_range range, place where);  // the content is unknown until put()
    void read_write(byte_range range, place where);
    void put(byte_range range, std::span<const std::byte> content);
    void put_untold(byte_range range, std::span<const std::byte> content);  // through a pointer: it has to be found
    void fill(byte_range range, std::span<const std::byte> pattern);
    void mark(byte_range range, place where);

    /// Notes that a fill of a rectangle has failed: readers see what was there, or what it was filled with.
    void fill_in_part(byte_range range);
    void drop(byte_range range, place where);
    void drop_content(byte_range range);

    // These note pointers that the host may write through, and views, which are counted.
    void expose(byte_range range);
    void end_pointers(byte_range range);
    void expose_view(byte_range range);
    void end_view(byte_range range);

    /// Returns the rules of the standing holds, in the order in which the holds began.
    std::vector<standing_rules>& standing() { return standing_; }
    const std::vector<standing_rules>& standing() const { return standing_; }

    /// Gives standing holds back what they may have after an operation. `leased` tells of each byte whether somebody
    /// leases it.
    void give_back(const std::vector<bool>& leased);

    /// Returns how many bytes standing holds take at most after an access to `asked`, which may be empty.
    std::size_t to_give_back(const region& asked, bool writes) const;

    /// Notes that an operation has failed half way: standing holds may lack any bytes.
    void doubt_standing();

    /// Notes that content was to come to some bytes of the range, and has not: the buffer may take copies as stale
    /// again.
    void doubt(byte_range range);

    /// Notes that queued work of the buffer's own has failed at `where`.
    void lose(byte_range range, place where);

    /// Notes that the buffer may take the bytes for lost, too, as it has waited for all of them with one fence.
    void suspect(byte_range range);

    /// Returns how `got` is not what a reader may see; "" where it is. Content that nobody knew is known afterwards.
    std::string compare(byte_range range, std::span<const std::byte> got);

    /// Returns how many bytes have to move at most before an access.
    std::size_t stale(byte_range range, place where) const;

    /// Returns whether every byte that was written is surely current elsewhere, so that `where` may drop it.
    bool may_drop(byte_range range, place where) const;

    bool any_suspect(byte_range range) const;

    bool all_exposed(byte_range range) const;

    /// Returns whether a pointer or a view of the byte is out. The host may have written through it, also where a
    /// device may have newer content by now.
    bool is_pointed(std::size_t at) const { return cells_[at].exposed || cells_[at].held || cells_[at].views != 0; }

    /// Returns whether the copy at `where` surely has the newest content of this byte.
    bool is_current(std::size_t at, place where) const {
        const cell& of = cells_[at];
        return (of.current & set_of(where)) != 0 && (!of.exposed || where == at_host);
    }

    /// Returns the bytes themselves, with 0 for those that are not known.
    std::vector<std::byte> content() const;

private:
    enum class value : std::uint8_t {
        known,
        one_of_old,  // all readers see the same, and the first tells what
        anything,    // readers may see different bytes
        torn,  // so, too, until bytes are written that are told, or differ: both sides of one memory count as current
    };

    struct cell {
        std::byte byte{0};
        value is = value::known;
        bool written = false;
        bool exposed = false;
        bool held = false;       // a pointer is out, though a device may have newer content
        std::uint8_t views = 0;  // views that are out, though a device may have newer content
        bool blurred = false;    // a pointer or view was out: writes beside it may have been taken for its own
        bool filled = false;
        bool suspect = false;      // queued work has failed here, and the buffer may refuse to read the byte
        std::uint8_t current = 0;  // a set of places
    };

    std::uint8_t group(place where) const noexcept;
    static std::uint8_t set_of(place where) noexcept { return static_cast<std::uint8_t>(1u << where); }
    static void find_host_write(cell& of) noexcept;
    static void end_exposure(cell& of) noexcept;
    static void newest_at(cell& of, place where) noexcept;
    void take(byte_range range, place where);
    std::span<cell> of(byte_range range) { return std::span(cells_).subspan(range.begin, range.size()); }
    std::span<const cell> of(byte_range range) const { return std::span(cells_).subspan(range.begin, range.size()); }

    std::vector<cell> cells_;
    std::vector<standing_rules> standing_;
    std::uint8_t host_group_ = 1;
    std::optional<place> holder_;
    bool uninitialized_;
};

}  // namespace unibuf::test
