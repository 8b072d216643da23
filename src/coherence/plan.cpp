// coherence/plan.cpp
#include "coherence/plan.hpp"

#include <algorithm>
#include <bit>

namespace unibuf::coherence {
namespace {

/// Returns the space that content is taken from: the host if it has it, so that devices stay undisturbed.
space_id source_among(space_set current) noexcept { return static_cast<space_id>(std::countr_zero(current)); }

/// Builds the steps of one access, piece by piece.
class planner {
public:
    planner(const sharing& memories, std::span<const queued_work> queued, const request& asked)
        : memories_(memories),
          queued_(queued),
          where_(asked.where),
          what_(asked.what),
          found_later_(asked.found_later),
          group_(memories.group(asked.where)) {}

    void add_piece(byte_range piece, const knowledge& known) {
        steps_of_piece_.clear();
        piece_ = piece;
        if (reads(what_) && !has(known.current, where_)) {
            bring(known);
        } else if (writes(what_) && group_ != set_of(where_) && known.current != set_of(where_)) {
            take_over(where_, known, what_);
        }
        wait_for_work_on(where_, what_);
        append();
    }

    /// Adds the waits before all else.
    void add_to(std::vector<step>& steps) const {
        steps.insert(steps.end(), waits_.begin(), waits_.end());
        steps.insert(steps.end(), steps_.begin(), steps_.end());
    }

private:
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
        if (where_ != hub) publish(hub, where_, what_, false);
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
        emit({.does = step::kind::publish,
              .from = from,
              .to = to,
              .what = what,
              .seen = seen,
              .found_later = has(found_later_, from)});
    }

    void emit(step next) {
        next.range = piece_;
        steps_of_piece_.push_back(next);
    }

    /// Adds a wait for work that must be done before the memory of `space` is used: before a read all that writes,
    /// before a write all work.
    void wait_for_work_on(space_id space, access what) {
        for (const queued_work& work : queued_) {
            if (memories_.hub(work.where) != memories_.hub(space) || !work.range.overlaps(piece_)) continue;
            if (!work.writes && !writes(what)) continue;
            if (std::ranges::find(waits_, work.ticket, &step::ticket) != waits_.end()) continue;
            waits_.push_back({.range = work.range, .from = work.where, .ticket = work.ticket});
        }
    }

    /// Adds the steps of the piece; where they continue those of the piece before, they make them longer instead.
    void append() {
        const std::size_t count = steps_of_piece_.size();
        const bool continues =
            count == steps_.size() - last_ &&
            std::equal(steps_of_piece_.begin(), steps_of_piece_.end(),
                       steps_.begin() + static_cast<std::ptrdiff_t>(last_), [](const step& next, const step& before) {
                           return before.range.end == next.range.begin && before.is_like(next);
                       });
        if (continues) {
            for (std::size_t i = last_; i < steps_.size(); ++i) steps_[i].range.end = piece_.end;
        } else if (count != 0) {
            last_ = steps_.size();
            steps_.insert(steps_.end(), steps_of_piece_.begin(), steps_of_piece_.end());
        }
    }

    const sharing& memories_;
    std::span<const queued_work> queued_;
    space_id where_;
    access what_;
    space_set found_later_;
    space_set group_;  // the spaces that share the memory of `where_`

    byte_range piece_;
    std::vector<step> steps_of_piece_;
    std::vector<step> waits_;
    std::vector<step> steps_;
    std::size_t last_ = 0;  // index of the first step of the last piece
};

/// Answers the usual case: one memory of its own, known alike everywhere, and nothing to wait for.
void plan_alike(const knowledge& known, const request& asked, std::vector<step>& steps) {
    if (asked.what == access::write || has(known.current, asked.where) || asked.range.empty()) return;
    step next{.does = step::kind::zero, .range = asked.range, .to = asked.where};
    if (known.what != content::unwritten) {
        next.does = step::kind::move;
        next.from = source_among(known.current);
    }
    steps.push_back(next);
}

}  // namespace

void plan(const directory& known, const sharing& memories, std::span<const queued_work> queued, const request& asked,
          std::vector<step>& steps) {
    if (known.ranges() == 1 && queued.empty() && !memories.any_shared()) {
        return plan_alike(known.first(), {asked.range.clipped_to(known.whole()), asked.where, asked.what}, steps);
    }
    planner made(memories, queued, asked);
    known.for_each(asked.range, [&](byte_range piece, const knowledge& of_piece) { made.add_piece(piece, of_piece); });
    made.add_to(steps);
}

std::vector<step> plan(const directory& known, const sharing& memories, std::span<const queued_work> queued,
                       const request& asked) {
    std::vector<step> steps;
    plan(known, memories, queued, asked, steps);
    return steps;
}

void plan_to_drop(std::span<const queued_work> queued, byte_range range, std::vector<step>& steps) {
    for (const queued_work& each : queued) {
        if (each.range.overlaps(range))
            steps.push_back({.range = each.range, .from = each.where, .ticket = each.ticket});
    }
}

space_set complete_at(const directory& known, byte_range range, space_set allocated) {
    space_set complete = allocated;
    known.for_each(
        range, [&](byte_range, const knowledge& k) { complete &= k.taken_for_written() ? set_of(host) : k.current; });
    return complete;
}

space_id place_to_fill(const directory& known, byte_range range, space_set allocated) {
    space_id place = host;
    for_each_space(complete_at(known, range, allocated), [&](space_id each) { place = each; });
    return place;
}

}  // namespace unibuf::coherence
