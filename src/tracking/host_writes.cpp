// tracking/host_writes.cpp: finds what the program has written, and decides what is watched next.
#include "tracking/host_writes.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "coherence/transitions.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::detail {

using coherence::directory;
using coherence::knowledge;
using coherence::pointers;

namespace {

bool only_at_host(const knowledge& k) { return k.current == coherence::set_of(coherence::host); }
bool is_fresh(const knowledge& k) { return k.host_pointers == pointers::fresh; }

}  // namespace

host_writes::host_writes(directory& known, const held_ranges& writers, std::span<std::byte> host,
                         std::unique_ptr<tracking::watch> by, std::uint64_t buffer)
    : known_(known), writers_(writers), host_(host), watch_(std::move(by)), buffer_(buffer) {
    known_.update(known_.whole(), [](knowledge& k) { k.digested = false; });  // those of an earlier copy have gone
    if (!watch_) return;
    units_ = watch_->in_units();
    sections_ = tracking::sections(host.size());
}

void host_writes::expose(const region& part, bool untouched) {
    if (is_scattered(part)) return coherence::expose_unseen(known_, part);
    expose(runs_of(part), untouched);
}

void host_writes::expose_unseen(const region& part) {
    if (watch_) {
        try {
            for (const byte_range& each : runs_of(part)) assume(each);
        } catch (const error&) {
            give_up();
        }
    }
    coherence::expose_unseen(known_, part);
}

void host_writes::expose(const byte_ranges& ranges, bool untouched) {
    const tracking::new_pointer given{.finds_writes = watch_ != nullptr,
                                      .compares = watch_ && watch_->compares_all(),
                                      .values_known = values_known_,
                                      .was_used = used_,
                                      .untouched = untouched};
    const auto choose = [&](const knowledge& k) { return tracking::exposure_of(k, given); };
    try {
        for (const pointers how : {pointers::watched, pointers::assumed, pointers::fresh}) {
            const auto becomes = [&](const knowledge& k) { return !k.exposed() && choose(k) == how; };
            byte_ranges given_out;
            for (const byte_range& each : ranges) given_out.add(known_.where(each, becomes));
            if (how == pointers::watched) arm(given_out);
            coherence::expose(known_, given_out, how);
        }
    } catch (const error&) {
        give_up();
        coherence::expose(known_, ranges, pointers::assumed);
    }
}

void host_writes::expose_again(byte_range range) {
    const byte_ranges seen = std::exchange(watched_later_, {}).clipped_to(range);
    for (const byte_range& each : seen)
        coherence::expose(known_, known_.where(each, &knowledge::at_host), pointers::none);
    const auto forgotten = [](const knowledge& k) { return !k.exposed() && k.at_host(); };
    byte_ranges again;
    for (const byte_range& held : writers_.of(range)) again.add(known_.where(held, forgotten));
    expose(again, false);
}

/// Begins to watch the ranges, and keeps what others may need to know of the units at their ends.
void host_writes::arm(const byte_ranges& ranges) {
    byte_ranges armed;
    byte_ranges shared;
    byte_ranges cut;  // many of the ranges may have a part in one unit
    for (const byte_range& each : ranges) {
        armed.add(units_.within(each));
        for (const byte_range& unit : units_.cut_by(each)) cut.add(unit);
    }
    byte_ranges alone;
    units_.for_each(cut, [&](byte_range unit) { (known_.any(unit, &knowledge::watched) ? shared : alone).add(unit); });
    armed.add(alone);
    for (const byte_range& each : armed) watch_->arm(each);
    scan(shared);  // a scan protects what it has looked at
}

/// Looks what was written, and keeps what is found; what there is no memory to keep is kept by the next scan.
void host_writes::scan(const byte_ranges& ranges, look_for what) {
    keep_found();  // what an earlier look has left
    const auto apart = [this](byte_range bytes) { return told_apart(bytes); };
    const auto look = [&](byte_range each) { watch_->scan(each, apart, found_.units, what); };
    if (ranges.count() > 1) {
        for (const byte_range& each : units_.around(ranges)) look(each);
    } else if (!ranges.empty()) {
        look(ranges.hull());
    }
    keep_found();
}

/// Returns the bytes of `range`, of a compared unit, that have no part in what the program writes beside them: others
/// have newer content there, or write it.
byte_ranges host_writes::told_apart(byte_range range) const {
    byte_ranges result = known_.where(range, [](const knowledge& k) { return !k.watched() || !k.at_host(); });
    if (!arriving_.empty()) result.add(arriving_.clipped_to(range));
    return result;
}

/// Looks at all that somebody may have written of `range`, and keeps what is found.
void host_writes::collect(byte_range range, look_for what) {
    for (const byte_range& piece : known_.where(range, is_fresh)) {
        std::vector<byte_range> touched;
        watch_->touched(piece, touched);
        for (const byte_range& each : touched) found_.units.push_back(each.clipped_to(piece));
    }
    scan(known_.where(range, &knowledge::watched), what);
    found_.keep_doubted(known_, range);
}

/// Tells the directory what was found of `range`.
void host_writes::tell_found(byte_range range) {
    const byte_ranges written = found_.written(known_, range);
    for (const byte_range& each : written) trace::record_found(buffer_, each);
    coherence::found_host_writes(known_, written);
    found_.take_out(range);
}

/// Takes for written what nobody watches, and somebody may have written.
void host_writes::take_for_written(byte_range range) {
    if (trace::is_on()) {
        const auto changes = [](const knowledge& k) { return k.taken_for_written() && !only_at_host(k); };
        const bool is_tracked = watch_ || tracking::kernel::instance().usable();
        const auto why = is_tracked ? nullptr : +[] { return tracking::about().description; };
        for (const byte_range& each : known_.where(range, changes)) trace::record_assumed(buffer_, each, why);
    }
    coherence::assume_host_writes(known_, range);
}

/// Returns whether there is nothing to look at in `range`: its bytes are taken for written, or no pointer is out.
bool host_writes::is_all_assumed(byte_range range) const {
    const auto looked_at = [](const knowledge& k) { return k.watched() || is_fresh(k); };
    return found_.empty() && !watch_->tells_apart() && !known_.any(range, looked_at);
}

void host_writes::find(const byte_ranges& ranges, space where, access what) {
    watched_later_ = {};
    may_be_written_ = {};
    for (const byte_range& each : ranges) find_in(each, where, what);
}

void host_writes::find_in(byte_range range, space where, access what) {
    const bool elsewhere = where != host;
    // Memory that a device shares may be handed back to the host, which must not undo what was written meanwhile.
    const bool changes_hands = elsewhere || what != access::read;
    try {
        if (!watch_) return find_untracked(range, where, what);
        end_unheld(range);
        const auto needed = [&](const knowledge& k) {
            return k.exposed() && (changes_hands ? !only_at_host(k) : !k.at_host());
        };
        if (!elsewhere && !known_.any(units_.around(range), needed)) return;
        byte_ranges found;
        if (!is_all_assumed(range)) {
            collect(range);
            expect_no_more(range);
            leave_to_kernel(range);
            found = found_.kept_in(range);
            tell_found(range);
        }
        if (elsewhere) {
            decide_sections(range, found);
        } else {
            if (changes_hands) take_for_written(range);
            const auto unseen = [](const knowledge& k) { return k.host_pointers == pointers::assumed && !k.at_host(); };
            byte_ranges seen_later = known_.where(range, unseen);
            // Comparing finds no store that leaves a byte as it was: only bytes of the device in the host's own memory
            // can be watched later.
            const auto is_apart = [](const knowledge& k) {
                return k.current != coherence::set_of(host_as_device.id());
            };
            const byte_ranges compared = watch_->compared(range);
            for (const byte_range& each : compared) seen_later.take_out(known_.where(each, is_apart));
            watched_later_.add(seen_later);
        }
        compare_ends(range);
    } catch (const error&) {
        give_up();
        end_unheld(range);
        if (changes_hands) take_for_written(range);
    }
}

/// Decides on each section of `range`. Where all is watched already, and nothing was found, a section stays watched.
void host_writes::decide_sections(byte_range range, const byte_ranges& found) {
    const auto is_undecided = [](const knowledge& k) { return k.exposed() && !(k.watched() && k.at_host()); };
    const bool is_quiet = !known_.any(range, is_undecided);
    const byte_range left = is_quiet ? sections_.begin_anew_beside(found.hull(), range) : range;
    tracking::sections::for_each(left, [&](byte_range each) { decide(each, found.bytes_in(each)); });
}

/// Decides whether a section, in which so many bytes were found `written`, is watched until the next round, and arms it
/// or takes it for written.
void host_writes::decide(byte_range in, std::size_t written) {
    const auto at_host_and = [](pointers how) {
        return [how](const knowledge& k) { return k.host_pointers == how && k.at_host(); };
    };
    bool assumed = false;
    bool fresh = false;
    bool watched = false;
    known_.for_each_kind(in, [&](const knowledge& k) {
        if (!k.at_host()) return;
        assumed = assumed || k.host_pointers == pointers::assumed;
        fresh = fresh || k.host_pointers == pointers::fresh;
        watched = watched || k.host_pointers == pointers::watched;
    });
    if (!assumed && !fresh && !watched) return;

    tracking::section_history& history = sections_.of(in);
    const bool watch = fresh || watch_->compares_all() || tracking::watch_next(history, !assumed, written, in.size());

    if (assumed) take_for_written(in);
    if (!watch) {
        if (!watched) return;
        const byte_ranges given_up = known_.where(in, at_host_and(pointers::watched));
        coherence::expose(known_, given_up, pointers::assumed);
        take_for_written(in);
        for (const byte_range& each : given_up) watch_->disarm(each);
        return;
    }
    if (assumed) {
        byte_ranges again = known_.where(in, at_host_and(pointers::assumed));
        again.take_out(writers_.unseen_of(in));
        arm(again);
        coherence::expose(known_, again, pointers::watched);
    }
    if (!fresh) return;
    watch_fresh(in);
    tell_found(in);
}

byte_ranges host_writes::compared(byte_range range) const {
    byte_ranges result;
    if (!watch_ || !watch_->compares_any_of(units_.around(range))) return result;
    const auto looked_at = [](const knowledge& k) { return k.exposed() && k.at_host(); };
    for (const byte_range& piece : known_.where(range, looked_at)) result.add(watch_->compared(units_.around(piece)));
    return result;
}

bool host_writes::has_image(byte_range range) const {
    const auto is_watched = [](const knowledge& k) { return k.watched(); };
    return watch_ && watch_->compares_any_of(range, [&](byte_range each) { return known_.any(each, is_watched); });
}

byte_ranges host_writes::imaged(byte_range range) const {
    byte_ranges result;
    if (!watch_) return result;
    const byte_ranges compared = watch_->compared(range);
    for (const byte_range& each : compared) result.add(known_.where(each, &knowledge::watched));
    return result;
}

std::shared_ptr<const std::byte> host_writes::image(byte_range range) const {
    const auto unwatched = [](const knowledge& k) { return !k.watched(); };
    return watch_ && !known_.any(range, unwatched) ? watch_->image(range) : nullptr;
}

void host_writes::copy_as_sent(byte_range range, std::byte* to) const {
    known_.for_each_run(range, [&](byte_range piece, const knowledge& k) {
        std::byte* const target = to + (piece.begin - range.begin);
        const bool is_watched = watch_ && k.watched();
        if (!is_watched || !watch_->compares_all()) std::memcpy(target, host_.data() + piece.begin, piece.size());
        if (is_watched) watch_->copy_images(piece, target);
    });
}

directory host_writes::look() {
    if (!watch_) return known_;
    try {
        // Whoever is writing may be in a system call, which a page that is protected anew would end.
        collect(known_.whole(), tracking::kernel::is_by_signal() ? look_for::written : look_for::written_and_protect);
    } catch (const error&) {
        give_up();
        return known_;
    }
    directory result = known_;
    coherence::found_host_writes(result, found_.written(result, known_.whole()));
    // Fresh bytes that were touched are found again by each look, so they are not kept; all else is, for the accesses
    // that need it.
    found_.take_out(known_.where(known_.whole(), is_fresh));
    return result;
}

void host_writes::forget(const region& part) {
    if (!watch_) return;
    const byte_ranges looked_at = is_scattered(part) ? part.hull() : runs_of(part);
    try {
        for (const byte_range& each : looked_at) {
            scan(known_.where(each, &knowledge::watched));
            watch_->watch_again(each);
        }
        found_.take_out(runs_of(part));
        for (const byte_range& each : looked_at) {
            expect_no_more(each);
            leave_to_kernel(each);
            compare_ends(each);
        }
    } catch (const error&) {
        give_up();
    }
}

/// Gives up watching what is exposed of `range`, after what was written there until now has been told.
void host_writes::assume(byte_range range) {
    collect(range);
    tell_found(range);
    coherence::stop_watching(known_, range);
    watch_->disarm(range);
    expect_no_more(range);
    leave_to_kernel(range);
}

/// Ends the exposure of bytes that nobody holds any more, and tells what was written to them.
void host_writes::end_unheld(byte_range range) {
    if (writers_.for_good(range)) return;
    byte_ranges free = range;
    free.take_out(writers_.of(range));
    const auto ends = [](const knowledge& k) { return k.exposed() && !k.contested; };
    for (const byte_range& each : free) {
        for (const byte_range& piece : known_.where(each, ends)) {
            if (watch_) {
                collect(piece);
                tell_found(piece);
            }
            take_for_written(piece);
            coherence::end_pointers(known_, piece);
            if (watch_) watch_->disarm(piece);
        }
    }
}

/// Watches bytes of memory that was new, of which the host is current, and keeps what was touched of them.
void host_writes::watch_fresh(byte_range in) {
    const auto fresh_at_host = [](const knowledge& k) { return k.host_pointers == pointers::fresh && k.at_host(); };
    for (const byte_range& each : known_.where(in, fresh_at_host)) {
        // In the units at its ends other bytes may be watched, so these units count as touched.
        for (const byte_range& edge : units_.cut_by(each)) {
            found_.units.push_back(edge.clipped_to(each));
            arm(edge.clipped_to(each));
        }
        if (const byte_range inner = units_.within(each); !inner.empty()) watch_->arm_fresh(inner, found_.units);
        coherence::expose(known_, each, pointers::watched);
        keep_found();
    }
}

/// Gives up watching: what was written since the last scan is not known.
void host_writes::give_up() {
    watch_.reset();
    found_ = {};
    arriving_ = {};
    newer_soon_ = {};
    coherence::stop_watching(known_, known_.whole());
}

}  // namespace unibuf::detail
