// buffer/host_writes.cpp
#include "buffer/host_writes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "coherence/plan.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::directory;
using coherence::knowledge;
using coherence::pointers;
using tracking::part_bytes;

namespace {

/// The pieces of `range` of which `is` says yes, joined where they touch.
template <class Is>
std::vector<byte_range> pieces_of(const directory& known, byte_range range, Is is) {
    std::vector<byte_range> result;
    known.for_each(range, [&](byte_range piece, const knowledge& k) {
        if (!is(k)) return;
        if (!result.empty() && result.back().end == piece.begin) {
            result.back().end = piece.end;
        } else {
            result.push_back(piece);
        }
    });
    return result;
}

template <class Is>
bool any_of(const directory& known, byte_range range, Is is) {
    bool result = false;
    known.for_each(range, [&](byte_range, const knowledge& k) { result |= is(k); });
    return result;
}

bool at_host(const knowledge& k) { return coherence::has(k.current, coherence::host); }
bool newer_elsewhere(const knowledge& k) { return k.out == pointers::watched && !at_host(k); }
bool only_at_host(const knowledge& k) { return k.current == coherence::set_of(coherence::host); }

/// `range`, cut where one decision ends.
std::vector<byte_range> parts_of(byte_range range) {
    std::vector<byte_range> result;
    for (std::size_t begin = range.begin; begin < range.end;) {
        const std::size_t end = std::min(range.end, (begin / part_bytes + 1) * part_bytes);
        result.push_back({begin, end});
        begin = end;
    }
    return result;
}

/// Takes `range` out of `all`, which need not be in order.
void take_out(std::vector<byte_range>& all, byte_range range) {
    std::vector<byte_range> rest;
    for (const byte_range& each : all) {
        if (!each.overlaps(range)) {
            rest.push_back(each);
            continue;
        }
        if (each.begin < range.begin) rest.push_back({each.begin, range.begin});
        if (range.end < each.end) rest.push_back({range.end, each.end});
    }
    all = std::move(rest);
}

}  // namespace

host_writes::host_writes(std::span<std::byte> host, std::unique_ptr<tracking::watch> by)
    : host_(host), watch_(std::move(by)) {
    if (watch_) parts_.resize(host.size() / part_bytes + 1);
}

byte_range host_writes::around(byte_range range) const noexcept {
    const std::size_t unit = watch_->unit();
    return byte_range{range.begin / unit * unit, (range.end + unit - 1) / unit * unit}.clipped_to(whole());
}

byte_range host_writes::within(byte_range range) const noexcept {
    const std::size_t unit = watch_->unit();
    const std::size_t end = range.end == host_.size() ? range.end : range.end / unit * unit;
    return {(range.begin + unit - 1) / unit * unit, end};
}

/// The units of which `range` has only a part: two at the most.
std::vector<byte_range> host_writes::edges_of(byte_range range) const {
    std::vector<byte_range> result;
    const std::size_t unit = watch_->unit();
    const byte_range first = around({range.begin, range.begin + 1});
    const byte_range last = around({range.end - 1, range.end});
    if (range.begin % unit != 0) result.push_back(first);
    const bool last_is_part = range.end != last.end;
    if (last_is_part && (result.empty() || last != first)) result.push_back(last);
    return result;
}

void host_writes::hold(byte_range range, bool by_view) {
    const bool there = !by_view && held_for_good(range);
    if (!there) holders_.push_back({range, by_view});
}

void host_writes::let_go_view(byte_range range) noexcept {
    const auto mine =
        std::ranges::find_if(holders_, [&](const holder& each) { return each.view && each.range == range; });
    if (mine != holders_.end()) holders_.erase(mine);
}

void host_writes::let_go_pointers(byte_range range) {
    std::vector<holder> rest;
    for (const holder& each : holders_) {
        std::vector<byte_range> left{each.range};
        if (!each.view) take_out(left, range);
        for (const byte_range& piece : left) rest.push_back({piece, each.view});
    }
    holders_ = std::move(rest);
}

bool host_writes::held(byte_range range) const noexcept {
    return std::ranges::any_of(holders_, [&](const holder& each) { return each.range.overlaps(range); });
}

bool host_writes::held_for_good(byte_range range) const noexcept {
    return std::ranges::any_of(holders_, [&](const holder& each) { return !each.view && each.range.contains(range); });
}

void host_writes::expose(directory& known, byte_range range, bool untouched) {
    const auto choose = [&](const knowledge& k) {
        if (k.exposed()) return k.out;
        if (!watch_) return pointers::assumed;
        const bool unwritten = k.what == coherence::content::unwritten;
        if (unwritten && !values_known_ && watch_->compares()) return pointers::assumed;
        if (unwritten && untouched) return pointers::fresh;
        // All of it moves at the next access elsewhere.
        if (k.what == coherence::content::written && only_at_host(k)) return pointers::assumed;
        return pointers::watched;
    };
    try {
        const auto is_new = [&](const knowledge& k) { return !k.exposed() && choose(k) == pointers::watched; };
        for (const byte_range& piece : pieces_of(known, range, is_new)) arm(known, piece);
        known.update(range, [&](knowledge& k) { k.out = choose(k); });
    } catch (const error&) {
        give_up(known);
        coherence::expose(known, range, pointers::assumed);
    }
}

void host_writes::expose_again(directory& known, byte_range range) {
    for (const holder& each : holders_) {
        const byte_range part = each.range.clipped_to(range);
        const auto forgotten = [](const knowledge& k) { return !k.exposed() && at_host(k); };
        for (const byte_range& piece : pieces_of(known, part, forgotten)) expose(known, piece, false);
    }
}

/// Begins to watch `range`. What others know of the units at its ends is kept.
void host_writes::arm(const directory& known, byte_range range) {
    const auto watched = [](const knowledge& k) { return k.out == pointers::watched; };
    byte_range inner = within(range);
    if (inner.empty()) inner = {};
    if (!inner.empty()) watch_->arm(inner);
    for (const byte_range& edge : edges_of(range)) {
        if (pieces_of(known, edge, watched).empty()) {
            watch_->arm(edge);
            continue;
        }
        std::vector<byte_range> found;  // scanning arms again
        watch_->scan(edge, found);
        take_out(found, range);
        pending_.insert(pending_.end(), found.begin(), found.end());
    }
}

/// Scans all that is watched, and keeps what is found.
void host_writes::collect(const directory& known, byte_range range) {
    const auto watched = [](const knowledge& k) { return k.out == pointers::watched; };
    for (const byte_range& piece : pieces_of(known, range, watched)) watch_->scan(piece, pending_);
    const auto fresh = [](const knowledge& k) { return k.out == pointers::fresh; };
    for (const byte_range& piece : pieces_of(known, range, fresh)) watch_->touched(piece, pending_);
}

void host_writes::apply(directory& known, byte_range range) {
    std::vector<byte_range> mine;
    for (const byte_range& each : pending_) {
        const byte_range part = each.clipped_to(range);
        if (!part.empty()) mine.push_back(part);
    }
    if (mine.empty()) return;
    take_out(pending_, range);
    for (const byte_range& each : mine) apply_to(known, each);
}

/// Of bytes that a device has newer, those that the program has written, as far as that can be told.
void host_writes::apply_to(directory& known, byte_range found) {
    const auto exposed_here = [](const knowledge& k) { return k.exposed() && at_host(k); };
    for (const byte_range& piece : pieces_of(known, found, exposed_here)) coherence::found_host_writes(known, piece);
    for (const byte_range& piece : pieces_of(known, found, newer_elsewhere)) {
        for (const twin& each : twins_) {
            const byte_range part = each.unit.clipped_to(piece);
            if (part.empty()) continue;
            const bool same = std::memcmp(host_.data() + part.begin, each.bytes.data() + (part.begin - each.unit.begin),
                                          part.size()) == 0;
            if (!same) coherence::found_host_writes(known, part);
        }
        std::vector<byte_range> rest{piece};
        for (const twin& each : twins_) take_out(rest, each.unit);
        for (const byte_range& part : rest) coherence::found_host_writes(known, part);
    }
}

void host_writes::find(directory& known, byte_range range, space where, access what) {
    if (range.empty()) return;
    const bool elsewhere = where != host;
    // Memory that a device shares may be handed back to the host, which must not undo what was written meanwhile.
    const bool changes_hands = elsewhere || what != access::read;
    try {
        end_free(known, range);
        if (!watch_) {
            if (changes_hands) coherence::assume_host_writes(known, range);
            return;
        }
        const auto stale = [](const knowledge& k) { return k.exposed() && !at_host(k); };
        const auto shown = [](const knowledge& k) { return k.exposed() && !only_at_host(k); };
        const bool any = changes_hands ? any_of(known, around(range), shown) : any_of(known, around(range), stale);
        if (!elsewhere && !any) return;
        collect(known, range);
        const std::vector<byte_range> found = pending_;
        apply(known, range);
        if (elsewhere) {
            for (const byte_range& part : parts_of(range)) decide(known, part, found);
        } else {
            if (changes_hands) coherence::assume_host_writes(known, range);
            // A device that shares the memory has written it: what comes after that is found again.
            const auto unseen = [](const knowledge& k) { return k.out == pointers::assumed && !at_host(k); };
            for (const byte_range& piece : pieces_of(known, range, unseen)) {
                coherence::expose(known, piece, pointers::none);
            }
        }
        // The host may get some bytes of these units, while a device has newer ones in others.
        for (const byte_range& unit : edges_of(range)) make_twin(known, unit, {});
    } catch (const error&) {
        give_up(known);
        end_free(known, range);
        if (changes_hands) coherence::assume_host_writes(known, range);
    }
}

/// Whether a part is watched until the next round.
void host_writes::decide(directory& known, byte_range part, const std::vector<byte_range>& found) {
    const auto is = [&](pointers how) {
        return pieces_of(known, part, [how](const knowledge& k) { return k.out == how && at_host(k); });
    };
    const std::vector<byte_range> assumed = is(pointers::assumed);
    const std::vector<byte_range> fresh = is(pointers::fresh);
    const std::vector<byte_range> watched = is(pointers::watched);
    if (assumed.empty() && fresh.empty() && watched.empty()) return;

    std::size_t written = 0;
    for (const byte_range& each : found) written += each.clipped_to(part).size();
    const bool was_watched = assumed.empty() && fresh.empty();
    tracking::part_history& history = parts_[part.begin / part_bytes];
    const bool watch =
        !fresh.empty() || watch_->compares() || tracking::watch_next(history, was_watched, written, part.size());

    coherence::assume_host_writes(known, part);
    if (watch) {
        for (const byte_range& each : assumed) {
            arm(known, each);
            coherence::expose(known, each, pointers::watched);
        }
        for (const byte_range& each : fresh) {
            // Others may be watched in the units at its ends: those are taken for touched.
            std::vector<byte_range> touched = edges_of(each);
            for (const byte_range& edge : touched) arm(known, edge.clipped_to(each));
            if (const byte_range inner = within(each); !inner.empty()) watch_->arm_fresh(inner, touched);
            coherence::expose(known, each, pointers::watched);
            for (const byte_range& unit : touched) coherence::found_host_writes(known, unit.clipped_to(each));
        }
        return;
    }
    for (const byte_range& each : watched) {
        watch_->disarm(each);
        coherence::expose(known, each, pointers::assumed);
    }
    coherence::assume_host_writes(known, part);
}

directory host_writes::look(directory& known) {
    if (!watch_) return known;
    try {
        collect(known, whole());
    } catch (const error&) {
        give_up(known);
        return known;
    }
    directory result = known;
    // What was touched is found again each time it is looked for; all else is kept for those that need it.
    for (const byte_range& each : pending_) apply_to(result, each);
    const auto fresh = [](const knowledge& k) { return k.out == pointers::fresh; };
    for (const byte_range& piece : pieces_of(known, whole(), fresh)) take_out(pending_, piece);
    return result;
}

void host_writes::before_device_writes(directory& known, byte_range range, bool share) {
    const auto exposed = [](const knowledge& k) { return k.exposed(); };
    const auto unwatched = [](const knowledge& k) { return k.exposed() && k.out != pointers::watched; };
    try {
        for (const byte_range& piece : pieces_of(known, range, exposed)) {
            if (!watch_ || share) {
                if (watch_) watch_->disarm(piece);
                coherence::expose(known, piece, pointers::assumed);
                continue;
            }
            for (const byte_range& each : pieces_of(known, piece, unwatched)) {
                arm(known, each);
                coherence::expose(known, each, pointers::watched);
            }
            std::erase_if(twins_, [&](const twin& each) {
                return piece.contains(each.unit) || pieces_of(known, each.unit, newer_elsewhere).empty();
            });
            for (const byte_range& unit : edges_of(piece)) make_twin(known, unit, unit.clipped_to(piece));
        }
    } catch (const error&) {
        give_up(known);
    }
}

/// Of `unit`, where a device has newer content in a part of it, and is about to have it in all of `part`, which may be
/// empty. A twin is of one moment, in which nobody wrote the unit.
void host_writes::make_twin(const directory& known, byte_range unit, byte_range part) {
    const bool needed = !part.empty() || !pieces_of(known, unit, newer_elsewhere).empty();
    auto mine = std::ranges::find(twins_, unit, &twin::unit);
    if (!needed || (part.empty() && mine != twins_.end())) return;
    if (mine == twins_.end()) {
        twins_.push_back({unit, std::vector<std::byte>(unit.size())});
        mine = twins_.end() - 1;
        part = unit;
    }
    bool written = true;
    for (int tries = 0; written && tries < 4; ++tries) {
        std::memcpy(mine->bytes.data() + (part.begin - unit.begin), host_.data() + part.begin, part.size());
        std::vector<byte_range> found;
        watch_->scan(unit, found);
        pending_.insert(pending_.end(), found.begin(), found.end());
        written = !found.empty();
    }
}

void host_writes::forget(const directory& known, byte_range range) {
    if (!watch_) return;
    const auto watched = [](const knowledge& k) { return k.out == pointers::watched; };
    try {
        for (const byte_range& piece : pieces_of(known, range, watched)) watch_->scan(piece, pending_);
    } catch (const error&) {  // it will be found that it cannot be watched
    }
    take_out(pending_, range);
}

/// Ends what nobody holds any more: what was written through it is told.
void host_writes::end_free(directory& known, byte_range range) {
    std::vector<byte_range> free{range};
    for (const holder& each : holders_) take_out(free, each.range);
    const auto ends = [](const knowledge& k) { return k.exposed() && !k.contested; };
    for (const byte_range& part : free) {
        for (const byte_range& piece : pieces_of(known, part, ends)) {
            if (watch_) {
                collect(known, piece);
                apply(known, piece);
                watch_->disarm(piece);
            }
            coherence::assume_host_writes(known, piece);
            known.update(piece, [](knowledge& k) {
                if (!k.contested) k.out = pointers::none;
            });
        }
    }
}

/// What was written since the last scan is not known.
void host_writes::give_up(directory& known) {
    watch_.reset();
    twins_.clear();
    pending_.clear();
    known.update(whole(), [](knowledge& k) {
        if (k.exposed()) k.out = pointers::assumed;
    });
}

host_writes::own_write::own_write(host_writes& in, const directory& known, byte_range range) : range_(range) {
    if (!in.watch_ || range.empty()) return;
    const auto watched = [](const knowledge& k) { return k.out == pointers::watched; };
    if (pieces_of(known, in.around(range), watched).empty()) return;
    try {
        for (const byte_range& unit : in.edges_of(range)) {
            edge next{unit, std::vector<std::byte>(unit.size())};
            std::memcpy(next.before.data(), in.host_.data() + unit.begin, unit.size());
            in.watch_->scan(unit, in.pending_);
            edges_.push_back(std::move(next));
        }
        if (const byte_range inner = in.within(range); !inner.empty()) inner_ = pieces_of(known, inner, watched);
        for (const byte_range& each : inner_) {
            in.watch_->scan(each, in.pending_);
            in.watch_->disarm(each);
        }
        in_ = &in;
    } catch (const error&) {  // it will be found that it cannot be watched
    }
}

host_writes::own_write::own_write(own_write&& other) noexcept
    : in_(std::exchange(other.in_, nullptr)),
      range_(other.range_),
      inner_(std::move(other.inner_)),
      edges_(std::move(other.edges_)) {}

host_writes::own_write& host_writes::own_write::operator=(own_write&& other) noexcept {
    std::swap(in_, other.in_);
    std::swap(range_, other.range_);
    std::swap(inner_, other.inner_);
    std::swap(edges_, other.edges_);
    return *this;
}

host_writes::own_write::~own_write() {
    if (!in_ || !in_->watch_) return;
    try {
        for (const byte_range& each : inner_) in_->watch_->arm(each);
        for (twin& each : in_->twins_) {
            const byte_range part = each.unit.clipped_to(range_);
            if (part.empty()) continue;
            std::memcpy(each.bytes.data() + (part.begin - each.unit.begin), in_->host_.data() + part.begin,
                        part.size());
        }
        for (const edge& each : edges_) {
            std::vector<byte_range> seen;
            in_->watch_->scan(each.unit, seen);
            for (byte_range beside :
                 {byte_range{each.unit.begin, range_.begin}, byte_range{range_.end, each.unit.end}}) {
                beside = beside.clipped_to(each.unit);
                if (beside.empty()) continue;
                const std::size_t at = beside.begin - each.unit.begin;
                const bool same =
                    std::memcmp(in_->host_.data() + beside.begin, each.before.data() + at, beside.size()) == 0;
                if (!same) in_->pending_.push_back(beside);
            }
        }
    } catch (const std::exception&) {  // it will be found that it cannot be watched
    }
}

}  // namespace unibuf::detail
