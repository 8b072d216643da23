// coherence/bands.hpp: a directory of bytes that are seen as a lattice: boxes stay boxes in it.
#pragma once

#include <cassert>
#include <cstddef>
#include <utility>
#include <vector>

#include "coherence/knowledge.hpp"
#include "coherence/region.hpp"
#include "containers/piece_list.hpp"

namespace unibuf::coherence {

/// A sorted list of bands along the first axis of a lattice. All of a band is known alike, or it has a list for the
/// next axis. Equal neighbours are one band, so there is one form for what is known: a column that one space wrote is
/// one band with a list of three, however many rows it has; the shell of a block is 27 boxes at the most. Looking up,
/// changing and joining are linear in the bands that the asked box cuts.
class bands {
public:
    /// Makes bands of `bytes`, a multiple of the first pitch, that are all known as `known`.
    bands(const lattice& on, std::size_t bytes, const knowledge& known)
        : on_(on), indices_(bytes / on.pitch[0]), list_({{0, known, {}}}) {}

    const lattice& on() const noexcept { return on_; }

    /// Returns whether all bytes are known alike: as first().
    bool is_one() const noexcept { return list_.size() == 1 && list_.begin()->inner.empty(); }
    const knowledge& first() const noexcept { return first_of(list_); }

    /// Returns the number of boxes that are told apart.
    std::size_t boxes() const noexcept { return boxes_of(list_); }

    /// Returns whether visit(const box&, const knowledge&) returns true for a box that has bytes of `within`, clipped
    /// to it; asks no more then.
    template <class Visit>
    bool any(const box& within, const Visit& visit) const {
        return any_in(list_, 0, indices_, within, visit);
    }

    /// Calls visit(const box&, const knowledge&) for each box that has bytes of `within`, clipped to it.
    template <class Visit>
    void for_each(const box& within, const Visit& visit) const {
        any(within, [&](const box& piece, const knowledge& k) {
            visit(piece, k);
            return false;
        });
    }

    /// Calls visit(byte_range, const knowledge&) for all runs of `within`, in order.
    template <class Visit>
    void for_each_run(const box& within, Visit visit) const {
        for_each_run_in(list_, 0, indices_, within, 0, visit);
    }

    /// Makes bands begin and end where `within` does. Where it throws, some do; what is known is as before.
    void divide(const box& within) { divide_in(list_, 0, indices_, within); }

    /// Calls change(knowledge&, std::size_t bytes), which does not throw, for all that is known of bytes of `within`,
    /// and says of how many. REQUIRES: divide(within) was called, and join() has not joined there since.
    template <class Change>
    void change(const box& within, const Change& change) noexcept {
        change_in(list_, 0, indices_, within, 1, change);
    }

    /// Joins equal neighbours among the bands that `around` has bytes of and those beside them, but where
    /// keeps(axis, index, of) holds: it is asked whether what is behind `index` stays apart from what is before it,
    /// within the bands that the indices of `of` on the axes before name.
    template <class Keeps>
    void join(const box& around, const Keeps& keeps) noexcept {
        box within{.on = on_};
        join_in(list_, 0, indices_, around, within, keeps);
    }

    friend bool operator==(const bands&, const bands&) = default;

private:
    struct band {
        std::size_t begin;
        knowledge known;         // of all its bytes, where `inner` is empty
        piece_list<band> inner;  // along the next axis

        friend bool operator==(const band&, const band&) = default;
    };
    using list = piece_list<band>;

    template <class List>
    static std::size_t end_of(List& all, decltype(all.begin()) of, std::size_t indices) noexcept {
        ++of;
        return of == all.end() ? indices : of->begin;
    }

    /// Returns whether the box has all of the axes behind `axis`.
    static bool is_full_behind(const box& of, std::size_t axis) noexcept {
        for (++axis; axis < of.on.axes; ++axis) {
            if (!of.is_full(axis)) return false;
        }
        return true;
    }

    template <class Visit>
    bool any_in(const list& all, std::size_t axis, std::size_t indices, const box& within, const Visit& visit) const {
        for (auto each = all.at(within.begin[axis]); each != all.end() && each->begin < within.end[axis]; ++each) {
            box piece = within;
            piece.begin[axis] = std::max(each->begin, within.begin[axis]);
            piece.end[axis] = std::min(end_of(all, each, indices), within.end[axis]);
            const bool found = each->inner.empty() ? visit(std::as_const(piece), each->known)
                                                   : any_in(each->inner, axis + 1, on_.extent(axis + 1), piece, visit);
            if (found) return true;
        }
        return false;
    }

    template <class Visit>
    void for_each_run_in(const list& all, std::size_t axis, std::size_t indices, const box& within, std::size_t offset,
                         Visit& visit) const {
        const std::size_t pitch = on_.pitch[axis];
        for (auto each = all.at(within.begin[axis]); each != all.end() && each->begin < within.end[axis]; ++each) {
            const std::size_t begin = std::max(each->begin, within.begin[axis]);
            const std::size_t end = std::min(end_of(all, each, indices), within.end[axis]);
            if (each->inner.empty() && is_full_behind(within, axis)) {
                visit(byte_range{offset + begin * pitch, offset + end * pitch}, each->known);
                continue;
            }
            for (std::size_t index = begin; index != end; ++index) {
                const std::size_t at = offset + index * pitch;
                if (each->inner.empty()) {
                    for_each_run_alike(each->known, axis + 1, within, at, visit);
                } else {
                    for_each_run_in(each->inner, axis + 1, on_.extent(axis + 1), within, at, visit);
                }
            }
        }
    }

    template <class Visit>
    void for_each_run_alike(const knowledge& known, std::size_t axis, const box& within, std::size_t offset,
                            Visit& visit) const {
        const std::size_t pitch = on_.pitch[axis];
        if (is_full_behind(within, axis)) {
            visit(byte_range{offset + within.begin[axis] * pitch, offset + within.end[axis] * pitch}, known);
            return;
        }
        for (std::size_t index = within.begin[axis]; index != within.end[axis]; ++index) {
            for_each_run_alike(known, axis + 1, within, offset + index * pitch, visit);
        }
    }

    template <class Change>
    void change_in(list& all, std::size_t axis, std::size_t indices, const box& within, std::size_t times,
                   const Change& change) noexcept {
        for (auto each = all.at(within.begin[axis]); each != all.end() && each->begin < within.end[axis]; ++each) {
            assert(within.begin[axis] <= each->begin && end_of(all, each, indices) <= within.end[axis]);
            const std::size_t all_times = times * (end_of(all, each, indices) - each->begin);
            if (!each->inner.empty()) {
                change_in(each->inner, axis + 1, on_.extent(axis + 1), within, all_times, change);
            } else {
                assert(is_full_behind(within, axis));
                change(each->known, all_times * on_.pitch[axis]);
            }
        }
    }

    template <class Keeps>
    void join_in(list& all, std::size_t axis, std::size_t indices, const box& around, box& within,
                 const Keeps& keeps) noexcept {
        auto kept = all.at(around.begin[axis] - (around.begin[axis] != 0));
        auto end = all.at(around.end[axis]);
        ++end;
        for (auto each = kept; each != end; ++each) {
            if (each->inner.empty()) continue;
            within.begin[axis] = each->begin;
            within.end[axis] = end_of(all, each, indices);
            join_in(each->inner, axis + 1, on_.extent(axis + 1), around, within, keeps);
            if (each->inner.size() != 1 || !each->inner.begin()->inner.empty()) continue;
            each->known = each->inner.begin()->known;
            each->inner = {};
        }
        auto each = kept;
        for (++each; each != end; ++each) {
            const bool alike = each->known == kept->known && each->inner == kept->inner;
            if (alike && !keeps(axis, each->begin, std::as_const(within))) continue;
            ++kept;
            if (kept != each) *kept = std::move(*each);
        }
        all.erase(++kept, end);
    }

    void divide_in(list& all, std::size_t axis, std::size_t indices, const box& within);
    static void split(list& all, std::size_t at, std::size_t indices);
    static const knowledge& first_of(const list& all) noexcept;
    static std::size_t boxes_of(const list& all) noexcept;

    lattice on_;
    std::size_t indices_;  // along the first axis
    list list_;
};

}  // namespace unibuf::coherence
