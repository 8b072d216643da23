// coherence/plan.cpp: decides what moves, from what is known of the bytes.
#include "coherence/plan.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <optional>

namespace unibuf::coherence {
namespace {

/// Returns the space that content is taken from: the host if it has it, so that devices stay undisturbed.
space_id source_among(space_set current) noexcept { return static_cast<space_id>(std::countr_zero(current)); }

step wait_for(const queued_work& work) { return {.part = work.part, .from = work.where, .ticket = work.ticket}; }

/// Leaves one wait for each work, oldest first.
void one_of_each(steps& waits) {
    if (waits.size() < 2) return;
    const auto number_of = [](const step& each) { return each.ticket.number; };
    std::ranges::sort(waits, {}, number_of);
    const auto again = std::ranges::unique(waits, {}, number_of);
    waits.erase(again.begin(), again.end());
}

/// Builds the steps of one access, piece by piece.
class planner {
public:
    planner(const sharing& memories, const queued_works& queued, const plan_request& request)
        : memories_(memories),
          queued_(queued),
          where_(request.where),
          what_(request.what),
          found_later_(request.found_later),
          stay_(request.stay),
          group_(memories.group(request.where)),
          piece_(request.part) {
        wait_for_work_on(where_, request.handed_out ? access::write : what_);
    }

    /// Returns whether a piece of which so much is known takes steps.
    bool has_steps(const knowledge& known) const noexcept { return is_brought(known) || is_taken_over(known); }

    /// REQUIRES: it takes steps.
    void add_piece(const region& piece, const knowledge& known) {
        steps_of_piece_.clear();
        piece_ = piece;
        stays_ = stay_ && known.what != content::unwritten && (known.current & group_) != 0;
        contested_ = known.contested;
        is_brought(known) ? bring(known) : take_over(where_, known, what_);
        append();
    }

    /// Adds the waits before all else.
    void add_to(steps& all) {
        one_of_each(waits_);
        all.append(waits_);
        all.append(steps_);
    }

private:
    bool is_brought(const knowledge& known) const noexcept { return reads(what_) && !has(known.current, where_); }
    bool is_taken_over(const knowledge& known) const noexcept {
        return writes(what_) && group_ != set_of(where_) && known.current != set_of(where_);
    }

    /// Makes the newest content of the piece visible at `where_`.
    void bring(const knowledge& known) {
        if (known.current & group_) {
            take_over(where_, known, what_);
            return;
        }
        const space_id hub = memories_.hub(where_);
        take_over(hub, known, access::write);
        if (known.what == content::unwritten) {
            emit({.does = step::kind::zero, .to = hub});
        } else {
            const space_id source = source_among(known.current);
            const space_id source_hub = memories_.hub(source);
            if (source != source_hub) publish(source, source_hub, access::read, has(known.current, source_hub));
            wait_for_work_on(source, access::read);
            emit({.does = step::kind::move, .from = source_hub, .to = hub});
        }
        wait_for_work_on(hub, access::write);
        if (where_ != hub) publish(hub, where_, stay_ ? access::read : what_, false);
    }

    /// Makes `taker`, of a shared memory, the one that may do `what`. Where no space of that memory is current, any of
    /// them may have had it last.
    void take_over(space_id taker, const knowledge& known, access what) {
        const space_id hub = memories_.hub(taker);
        const space_set holders = known.current & group_;
        if (holders != 0 && has(holders, taker) && !writes(what)) return;
        if (holders == 0 || !has(holders, hub) || writes(what)) {
            for_each_space(group_ & ~set_of(hub) & ~set_of(taker), [&](space_id other) {
                if (holders != 0 && !has(holders, other)) return;
                publish(other, hub, taker == hub ? what : access::read, holders == 0 || has(holders, hub));
            });
        }
        if (taker != hub) publish(hub, taker, what, holders == 0 || has(holders, taker));
    }

    void publish(space_id from, space_id to, access what, bool seen) {
        wait_for_work_on(from, what);
        if (stays_ && (what == access::write || contested_)) return;
        emit({.does = step::kind::publish,
              .from = from,
              .to = to,
              .what = stays_ ? access::read : what,
              .seen = seen,
              .found_later = has(found_later_, from)});
    }

    void emit(step next) {
        next.part = piece_;
        steps_of_piece_.push_back(next);
    }

    /// Adds a wait for work that must be done before the memory of `space` is used: before a read all that writes,
    /// before a write all work.
    void wait_for_work_on(space_id space, access what) {
        queued_.any(piece_.hull(), [&](const queued_work& work) {
            const bool is_used = memories_.hub(work.where) == memories_.hub(space) && work.part.overlaps(piece_);
            if (is_used && (work.writes || writes(what))) waits_.push_back(wait_for(work));
            return false;
        });
    }

    /// Adds the steps of the piece; where they are those of the piece before, and the two join, they get longer
    /// instead.
    void append() {
        if (steps_of_piece_.empty()) return;
        begins_.push_back(steps_.size());
        steps_.append(steps_of_piece_);
        while (join_last()) {
        }
    }

    /// Joins the steps of the last two pieces. Returns whether they could be.
    bool join_last() {
        if (begins_.size() < 2) return false;
        const std::size_t count = steps_.size() - begins_.back();
        step* const later = steps_.end() - count;
        if (begins_.back() - begins_[begins_.size() - 2] != count) return false;
        step* const before = later - count;
        if (!std::equal(before, later, later, [](const step& one, const step& next) { return one.is_like(next); })) {
            return false;
        }
        const std::optional<region> both = joined(before->part, later->part);
        if (!both) return false;
        for (step* each = before; each != later; ++each) each->part = *both;
        steps_.erase(later, steps_.end());
        begins_.erase(&begins_.back());
        return true;
    }

    const sharing& memories_;
    const queued_works& queued_;
    space_id where_;
    access what_;
    space_set found_later_;
    bool stay_;
    space_set group_;  // the spaces that share the memory of `where_`

    region piece_;  // whose steps are being made; until the first one all that was asked for
    bool contested_ = false;
    bool stays_ = false;  // no publication takes the piece from those that have it
    steps steps_of_piece_;
    steps waits_;
    steps steps_;
    few<std::size_t, 4> begins_;  // index of the first step of each piece
};

/// Answers the usual case: one memory of its own, known alike everywhere, and nothing to wait for.
void plan_alike(const knowledge& known, const plan_request& request, steps& to) {
    if (request.what == access::write || has(known.current, request.where) || request.part.empty()) return;
    step next{.does = step::kind::zero, .part = request.part, .to = request.where};
    if (known.what != content::unwritten) {
        next.does = step::kind::move;
        next.from = source_among(known.current);
    }
    to.push_back(std::move(next));
}

}  // namespace

void plan(const directory& map, const sharing& memories, const queued_works& queued, const plan_request& request,
          steps& to) {
    assert(!map.any(request.part, [&](const knowledge& k) { return k.open && !has(k.current, request.where); }));
    if (map.is_one() && queued.empty() && !memories.any_shared()) {
        return plan_alike(map.first(), request, to);
    }
    planner made(memories, queued, request);
    // Where all bytes are asked for, the kinds of knowledge tell sooner than the pieces whether any of them take steps.
    const bool is_all = request.part.hull() == map.whole();
    if (!is_all || map.any(request.part, [&](const knowledge& k) { return made.has_steps(k); })) {
        map.for_each(request.part, [&](const region& piece, const knowledge& of_piece) {
            if (made.has_steps(of_piece)) made.add_piece(piece, of_piece);
        });
    }
    made.add_to(to);
}

std::vector<step> plan(const directory& map, const sharing& memories, const queued_works& queued,
                       const plan_request& request) {
    steps planned;
    plan(map, memories, queued, request, planned);
    return {planned.begin(), planned.end()};
}

void plan_to_drop(const queued_works& queued, const region& part, steps& to) {
    steps waits;
    queued.any(part.hull(), [&](const queued_work& each) {
        if (each.part.overlaps(part)) waits.push_back(wait_for(each));
        return false;
    });
    one_of_each(waits);
    to.append(waits);
}

space_set complete_at(const directory& map, const region& part, space_set allocated) {
    space_set complete = allocated;
    map.for_each_kind(part, [&](const knowledge& k) { complete &= k.taken_for_written() ? set_of(host) : k.current; });
    return complete;
}

space_id place_to_fill(const directory& map, const region& part, space_set allocated) {
    space_id place = host;
    for_each_space(complete_at(map, part, allocated), [&](space_id each) { place = each; });
    return place;
}

space_id only_mover(std::span<const step> planned) noexcept {
    space_id mover = host;
    for (const step& each : planned) {
        if (each.does == step::kind::wait) continue;
        const bool by_one = each.does == step::kind::move && (each.from == host || each.to == host);
        if (!by_one || (mover != host && mover != executor_of(each))) return host;
        mover = executor_of(each);
    }
    return mover;
}

}  // namespace unibuf::coherence
