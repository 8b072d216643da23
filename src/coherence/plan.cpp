// coherence/plan.cpp
#include "coherence/plan.hpp"

#include <algorithm>
#include <bit>

namespace unibuf::coherence {
namespace {

bool reads(access what) noexcept { return what != access::write; }
bool writes(access what) noexcept { return what != access::read; }

/// Where content is taken from: the host if it has it, so that devices stay undisturbed.
space_id source_among(space_set current) noexcept { return static_cast<space_id>(std::countr_zero(current)); }

/// Builds the steps of one access, piece by piece.
class planner {
public:
    planner(const sharing& memories, std::span<const queued_work> queued, space_id where, access what)
        : memories_(memories), queued_(queued), where_(where), what_(what), group_(memories.group(where)) {}

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

    std::vector<step> result() && {
        waits_.insert(waits_.end(), steps_.begin(), steps_.end());
        return std::move(waits_);
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
            if (source != source_hub) publish(source, source_hub, access::read);
            wait_for_work_on(source, access::read);
            emit({.does = step::kind::move, .from = source_hub, .to = hub});
        }
        wait_for_work_on(hub, access::write);
        if (where_ != hub) publish(hub, where_, what_);
    }

    /// Makes `taker`, of a shared memory, the one that may do `what`. Where nobody of that memory is current, any of
    /// them may be the one that had it last.
    void take_over(space_id taker, const knowledge& known, access what) {
        const space_id hub = memories_.hub(taker);
        const space_set holders = known.current & group_;
        if (holders != 0 && has(holders, taker) && !writes(what)) return;
        if (holders == 0 || !has(holders, hub) || writes(what)) {
            for_each_space(group_ & ~set_of(hub) & ~set_of(taker), [&](space_id other) {
                if (holders == 0 || has(holders, other)) publish(other, hub, taker == hub ? what : access::read);
            });
        }
        if (taker != hub) publish(hub, taker, what);
    }

    void publish(space_id from, space_id to, access what) {
        wait_for_work_on(from, what);
        emit({.does = step::kind::publish, .from = from, .to = to, .what = what});
    }

    void emit(step next) {
        next.range = piece_;
        steps_of_piece_.push_back(next);
    }

    /// Work that must be done before the memory of `space` is used for `what`: to read, what writes; to write, all.
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
    space_set group_;  // the spaces that share the memory of `where_`

    byte_range piece_;
    std::vector<step> steps_of_piece_;
    std::vector<step> waits_;
    std::vector<step> steps_;
    std::size_t last_ = 0;  // where the steps of the last piece begin
};

template <class Ranges>
void complete_all(directory& known, const sharing& memories, const step& done, const Ranges& ranges) {
    if (done.does == step::kind::wait) return;
    known.update(ranges, [&](knowledge& k) {
        if (done.does == step::kind::publish) {
            if (!has(k.current, done.from)) return;
            if (writes(done.what) && !k.exposed() && !done.found_later) k.current &= ~memories.group(done.to);
        }
        k.current |= set_of(done.to);
        if (k.what == content::written && std::popcount(k.current) > 1) k.what = content::settled;
    });
}

}  // namespace

std::vector<step> plan(const directory& known, const sharing& memories, std::span<const queued_work> queued,
                       byte_range range, space_id where, access what) {
    planner steps(memories, queued, where, what);
    known.for_each(range, [&](byte_range piece, const knowledge& piece_known) { steps.add_piece(piece, piece_known); });
    return std::move(steps).result();
}

void complete(directory& known, const sharing& memories, const step& done, const byte_ranges& ranges) {
    complete_all(known, memories, done, ranges);
}

void complete(directory& known, const sharing& memories, const step& done) {
    complete_all(known, memories, done, done.range);
}

void wrote(directory& known, byte_range range, space_id where) {
    known.update(range, [&](knowledge& k) {
        k = {.current = set_of(where), .what = content::written, .out = k.out};
        if (k.out == pointers::fresh) k.out = pointers::assumed;
    });
}

void expose(directory& known, const byte_ranges& ranges, pointers how) {
    known.update(ranges, [&](knowledge& k) { k.out = how; });
}

bool any_exposed(const directory& known) { return known.any(known.whole(), &knowledge::exposed); }

void assume_host_writes(directory& known, byte_range range) {
    known.update(range, [](knowledge& k) {
        if (k.taken_for_written()) k = {.current = set_of(host), .what = content::written, .out = k.out};
    });
}

void found_host_writes(directory& known, const byte_ranges& ranges) {
    known.update(ranges, [](knowledge& k) {
        if (!k.exposed()) return;
        if (!has(k.current, host)) {
            k.contested |= k.out == pointers::watched;
            return;
        }
        const pointers out = k.out == pointers::fresh ? pointers::assumed : k.out;
        k = {.current = set_of(host), .what = content::written, .out = out};
    });
}

void settle_without(directory& known, byte_range range, space_id where) {
    known.update(range, [&](knowledge& k) {
        if (!k.contested || (where != host && !has(k.current, where))) return;
        if (where != host) k = {.current = set_of(host), .what = content::written, .out = k.out};
        k.contested = false;
    });
}

byte_range contested_in(const directory& known, byte_range range) {
    byte_range result;
    known.for_each(range, [&](byte_range piece, const knowledge& k) {
        if (k.contested && result.empty()) result = piece;
    });
    return result;
}

byte_range only_at(const directory& known, byte_range range, space_id where) {
    byte_range result;
    const space_set others = ~set_of(where);
    known.for_each(range, [&](byte_range piece, const knowledge& k) {
        const bool last = k.what != content::unwritten && has(k.current, where) && (k.current & others) == 0;
        const bool may_be_newer = k.exposed() && where == host;
        if ((last || may_be_newer) && result.empty()) result = piece;
    });
    return result;
}

void drop(directory& known, byte_range range, space_id where) {
    known.update(range, [&](knowledge& k) { k.current &= ~set_of(where); });
}

void hand_over(directory& known, space_id from, space_id to) {
    known.update(known.whole(), [&](knowledge& k) {
        if (has(k.current, from)) k.current = (k.current & ~set_of(from)) | set_of(to);
    });
}

void did_not_arrive(directory& known, byte_range range, space_id where) {
    known.update(range, [&](knowledge& k) {
        if (!has(k.current, where)) return;
        const space_set others = k.current & ~set_of(where);
        if (others != 0 || k.what == content::unwritten) {
            k.current = others;
        } else {
            k.lost = true;
        }
    });
}

byte_range lost_in(const directory& known, byte_range range) {
    byte_range result;
    known.for_each(range, [&](byte_range piece, const knowledge& k) {
        if (k.lost && result.empty()) result = piece;
    });
    return result;
}

void drop_content(directory& known, byte_range range) {
    known.update(range, [](knowledge& k) { k = {}; });
}

}  // namespace unibuf::coherence
