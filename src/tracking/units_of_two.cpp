// tracking/units_of_two.cpp: units of which the host has newer bytes and a device others, which are compared.
#include <new>
#include <utility>

#include "coherence/transitions.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::directory;
using coherence::knowledge;
using coherence::pointers;

void host_writes::keep_found() {
    found_.keep(known_, arriving_, [this](byte_range piece) {
        byte_ranges faulted_in = pinning_ ? piece : byte_range{};
        faulted_in.take_out(watch_->compared(piece));
        return faulted_in;
    });
}

void host_writes::before_scattered_writes(const region& part) {
    if (!watch_ || !is_scattered(part)) return;
    coherence::expose(known_, known_.where(units_.around(part.hull()), &knowledge::stores_conflict), pointers::assumed);
}

void host_writes::before_device_writes(const region& part) {
    if (is_scattered(part) || !watch_) return coherence::stop_watching(known_, part);
    const auto unwatched = [](const knowledge& k) { return k.exposed() && !k.watched(); };
    const auto elsewhere = [](const knowledge& k) { return !k.at_host(); };
    try {
        const byte_ranges runs = runs_of(part);
        byte_ranges exposed;
        byte_ranges watched_now;
        for (const byte_range& run : runs) {
            exposed.add(known_.where(run, &knowledge::exposed));
            watched_now.add(known_.where(run, unwatched));
        }
        arm(watched_now);
        byte_ranges cut;
        const auto add_units_of = [&](byte_range piece) {
            for (const byte_range& unit : units_.cut_by(piece)) cut.add(unit);
        };
        for (const byte_range& piece : exposed) {
            add_units_of(piece);
            expect_no_more(piece);
            leave_to_kernel(piece);
        }
        for (const byte_range& each : watched_now) {
            for (const byte_range& newer : known_.where(each, elsewhere)) add_units_of(newer);
        }
        units_.for_each(cut, [&](byte_range unit) { compare(unit); });
        for (const byte_range& each : cut) {
            newer_soon_.add(exposed.clipped_to(each));
        }
        coherence::expose(known_, watched_now, pointers::watched);  // what has to be compared for this is
    } catch (const error&) {
        give_up();
    }
}

void host_writes::stop_watching(const directory::promise& in, const region& part) noexcept {
    coherence::stop_watching(in, part);
    if (!watch_ || is_scattered(part)) return;
    try {
        part.for_each_run([&](byte_range run) { watch_->disarm(run); });
    } catch (const std::exception&) {  // what is found there is not asked for
    }
}

/// Compares a unit from now on, of which some bytes are about to be newer elsewhere, or written by unibuf. What was
/// written until now is kept.
void host_writes::compare(byte_range unit) {
    if (watch_->compares_any_of(unit)) return scan(unit);
    keep_found();
    watch_->compare(unit, found_.units);
    keep_found();
}

/// Compares units of which the host may get some bytes, inside `range`, while a device has newer ones in others.
void host_writes::compare_ends(byte_range range) {
    for (const byte_range& unit : units_.cut_by(range)) {
        if (known_.any(unit, &knowledge::stores_conflict) && !watch_->compares_any_of(unit)) compare(unit);
    }
}

/// Ends the comparing of units of `range` that need it no more: no device has newer content in them, or is about to.
void host_writes::leave_to_kernel(byte_range range) {
    watch_->leave_to_kernel(units_.around(range), [&](byte_range unit) {
        return arriving_.bytes_in(unit) != 0 || newer_soon_.bytes_in(unit) != 0 ||
               known_.any(unit, &knowledge::stores_conflict);
    });
}

void host_writes::expect_no_more(byte_range range) noexcept {
    try {
        newer_soon_.take_out(range);
    } catch (const std::bad_alloc&) {  // the units are compared longer
    }
}

void host_writes::device_has_written(const region& part) noexcept {
    if (is_scattered(part)) return;
    part.for_each_run([&](byte_range run) {
        expect_no_more(run);
        // The host's writes are conflicts in units that the device has all of.
        if (watch_) watch_->leave_to_kernel(run, [&](byte_range unit) { return !run.contains(unit); });
    });
}

const char* host_writes::broken_rule() const {
    const char* broken = nullptr;
    const auto stays = [](const knowledge& k) { return k.watched() && k.at_host(); };
    known_.for_each_run(known_.whole(), [&](byte_range piece, const knowledge& k) {
        if (!watch_ && (k.watched() || k.host_pointers == pointers::fresh)) broken = "bytes are watched by nothing";
        if (!watch_ || !k.stores_conflict()) return;
        for (const byte_range& unit : units_.cut_by(piece)) {
            const bool is_compared = watch_->compares_any_of(unit);
            if (known_.any(unit, stays) && !is_compared) broken = "a unit of two spaces is not compared";
        }
    });
    return broken;
}

}  // namespace unibuf::detail
