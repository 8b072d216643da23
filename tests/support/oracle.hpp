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
#include "support/standing_rules.hpp"

namespace unibuf::test {

class oracle {
public:
    /// Of a buffer whose unwritten bytes are zero, or `uninitialized`.
    oracle(std::size_t bytes, bool uninitialized);

    /// What the buffer has chosen by now: the spaces whose copies are the host's memory.
    void share(std::uint8_t places_of_host_memory) { host_group_ = places_of_host_memory; }

    /// The first and the second device take turns with one memory, and it is the turn of `holder`; what was current at
    /// the other went along.
    void take_turns(place holder);

    void end_turns() {
        if (holder_) part();
    }

    /// Each has memory of its own from now on; which of them went on with the common one, only the buffer knows.
    void part();

    // Accesses that were granted.
    void read(byte_range range, place where);
    void write(byte_range range, place where);  // content is not known until it is put
    void read_write(byte_range range, place where);
    void put(byte_range range, std::span<const std::byte> content);
    void fill(byte_range range, std::span<const std::byte> pattern);
    void mark(byte_range range, place where);
    void drop(byte_range range, place where);
    void drop_content(byte_range range);

    // Pointers that the host may write through, and views of it, which are counted.
    void expose(byte_range range);
    void end_pointers(byte_range range);
    void expose_view(byte_range range);
    void end_view(byte_range range);

    /// Standing holds, in the order of their beginning.
    std::vector<standing_rules>& standing() { return standing_; }
    const std::vector<standing_rules>& standing() const { return standing_; }

    /// What standing holds take by themselves after each operation. `leased` tells of each byte whether somebody leases
    /// it.
    void give_back(const std::vector<bool>& leased);

    /// How many bytes an access of `range` lets standing holds take at most.
    std::size_t to_give_back(byte_range range, bool writes) const;

    /// An operation has failed half way.
    void doubt_standing();

    /// Somewhere there content was to come that has not: the buffer may take copies as stale again.
    void doubt(byte_range range);

    /// Queued work of the buffer's own has failed there.
    void lose(byte_range range, place where);

    /// Nothing, or how `got` is not what a reader may see. What nobody knew is known afterwards.
    std::string compare(byte_range range, std::span<const std::byte> got);

    /// How many bytes an access needs at most.
    std::size_t stale(byte_range range, place where) const;

    /// Whether every byte that was written is surely current elsewhere, so that `where` may drop it.
    bool may_drop(byte_range range, place where) const;

    bool any_suspect(byte_range range) const;

    bool all_exposed(byte_range range) const;

    /// Whether the copy there surely has the newest content of this byte.
    bool is_current(std::size_t at, place where) const {
        const cell& of = cells_[at];
        return (of.current & set_of(where)) != 0 && (!of.exposed || where == at_host);
    }

    /// The bytes themselves, with 0 for those that are not known.
    std::vector<std::byte> content() const;

private:
    enum class value : std::uint8_t {
        known,
        one_of_old,  // somebody knows: the first to read says
        anything,    // may differ between readers
    };

    struct cell {
        std::byte byte{0};
        value is = value::known;
        bool written = false;
        bool exposed = false;
        bool held = false;       // a pointer is out, though a device may have newer content
        std::uint8_t views = 0;  // likewise
        bool blurred = false;    // one has been: writes beside it may have been taken for writes of it
        bool filled = false;
        bool suspect = false;      // queued work has failed here: the buffer may refuse to read it
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
