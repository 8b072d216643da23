// tracking/units_of_two.cpp: units of which the host has newer bytes and a device others.
#include <utility>

#include "coherence/transitions.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::directory;
using coherence::knowledge;
using coherence::pointers;

/// Keeps what was found by units, of bytes that are looked at: a device that shares the memory may have written others.
void host_writes::keep_found() {
    if (found_.empty()) return;
    const byte_ranges found = byte_ranges::of(found_);
    images_.note_found(found);
    byte_ranges looked_at;
    byte_ranges certain;
    byte_ranges unknown;
    for (const byte_range& each : found) {
        known_.for_each_run(each, [&](byte_range piece, const knowledge& k) {
            if (!k.watched() && k.out != pointers::fresh) return;
            looked_at.add(piece);
            if (is_newer_elsewhere(k)) (pinning_ ? unknown : certain).add(images_.missing(piece));
        });
    }
    looked_at.take_out(unknown);
    conflicts_.add(certain);
    pending_.add(looked_at);
    tracking::empty_out(found_);
}

/// Returns the bytes of `found`, told by units, that the program has written.
byte_ranges host_writes::written(const directory& known, const byte_ranges& found) const {
    byte_ranges result = images_.written(known, found);
    for (const byte_range& each : found) result.add(conflicts_.clipped_to(each));
    return result;
}

void host_writes::before_host_writes(const region& part) {
    if (!watch_ || !is_scattered(part)) return;
    coherence::expose(known_, known_.where(units_.around(part.hull()), is_newer_elsewhere), pointers::assumed);
}

void host_writes::before_device_writes(const region& part) {
    if (is_scattered(part) || !watch_) return coherence::stop_watching(known_, part);
    part.for_each_run([&](byte_range run) { prepare_run(run); });
}

void host_writes::stop_watching(const directory::promise& in, const region& part) noexcept {
    coherence::stop_watching(in, part);
    if (!watch_ || is_scattered(part)) return;
    try {
        part.for_each_run([&](byte_range run) { watch_->disarm(run); });
    } catch (const std::exception&) {  // what is found there is not asked for
    }
}

void host_writes::prepare_run(byte_range range) {
    const auto unwatched = [](const knowledge& k) { return k.exposed() && !k.watched(); };
    try {
        for (const byte_range& piece : known_.where(range, &knowledge::exposed)) {
            std::vector<byte_range> units = units_.cut_by(piece);
            const auto elsewhere = [](const knowledge& k) { return !k.at_host(); };
            const byte_ranges watched_now = known_.where(piece, unwatched);
            for (const byte_range& each : watched_now) {
                arm(each);
                for (const byte_range& newer : known_.where(each, elsewhere)) {
                    const std::vector<byte_range> cut = units_.cut_by(newer);
                    units.insert(units.end(), cut.begin(), cut.end());
                }
            }
            forget_images(piece);
            // A unit inside, of which a device has newer content in some bytes, needs its image: the access may still
            // be refused.
            const std::vector<byte_range> inside = images_.inside(piece);
            units.insert(units.end(), inside.begin(), inside.end());
            for (const byte_range& unit : units) {
                take_image(unit, unit.clipped_to(piece));
                images_.expect(unit, unit.clipped_to(piece));
            }
            coherence::expose(known_, watched_now, pointers::watched);  // the images that this asks for are there
        }
    } catch (const error&) {
        give_up();
    }
}

/// Takes an image at a moment in which nobody writes the unit.
void host_writes::take_image(byte_range unit, byte_range inner) {
    if (!images_.has(unit)) {
        scan(unit);  // the image would hold what was written before now, and tell nobody
        inner = unit;
    }
    bool was_written = true;
    for (int tries = 0; was_written && tries < 4; ++tries) {
        images_.take(unit, inner);
        was_written = scan(unit);
    }
}

/// Forgets the images of units in which no device has newer content any more, and expects none in `range`.
void host_writes::forget_images(byte_range range) {
    images_.expect_no_more(range);
    images_.forget(range, [&](byte_range unit) { return newer_elsewhere(unit); });
}

const char* host_writes::broken_rule() const {
    const char* broken = nullptr;
    const auto stays = [](const knowledge& k) { return k.watched() && k.at_host(); };
    known_.for_each_run(known_.whole(), [&](byte_range piece, const knowledge& k) {
        if (!watch_ && (k.watched() || k.out == pointers::fresh)) broken = "bytes are watched by nothing";
        if (!watch_ || !is_newer_elsewhere(k)) return;
        for (const byte_range& unit : units_.cut_by(piece)) {
            if (known_.any(unit, stays) && !images_.has(unit)) broken = "a unit of two spaces has no image";
        }
    });
    return broken;
}

}  // namespace unibuf::detail
