// tracking/own_write.cpp: unibuf's own writes to the host's copy.
#include <exception>
#include <memory>
#include <utility>

#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::knowledge;

/// Brings an image up to date: what the program wrote before now would be taken for written again.
void host_writes::refresh_image(byte_range unit) {
    if (!images_.has(unit)) return take_image(unit, unit);
    if (images_.being_written(unit)) return;
    const auto told_by_unit = [](const knowledge& k) { return !is_newer_elsewhere(k); };
    for (const byte_range& piece : known_.where(unit, told_by_unit)) take_image(unit, piece);
}

host_writes::own_write::own_write(host_writes& in, const region& part) : part_(part) {
    if (!in.watch_ || part.empty()) return;
    const byte_range around = in.units_.around(part.hull());
    if (!in.known_.any(around, &knowledge::watched)) return;
    try {
        if (is_scattered(part)) {
            in.assume(around);
            return;
        }
        in_ = &in;
        part.for_each_run([&](byte_range run) { begin(run); });
    } catch (const error&) {  // the next look finds that the range cannot be watched
        in_ = nullptr;
    } catch (...) {
        end();
        throw;
    }
}

void host_writes::own_write::begin(byte_range run) {
    for (const byte_range& unit : in_->units_.cut_by(run)) {
        in_->refresh_image(unit);
        edges_.push_back(unit);
        in_->images_.begin_writing(unit);
    }
    byte_ranges inner;
    for (const byte_range& piece : in_->known_.where(in_->units_.within(run), &knowledge::watched)) {
        inner.add(in_->units_.around(piece));
    }
    in_->scan(inner);
    inner_.add(inner);
    for (const byte_range& each : inner) in_->watch_->disarm(each);
}

host_writes::own_write::own_write(own_write&& other) noexcept
    : in_(std::exchange(other.in_, nullptr)),
      part_(std::move(other.part_)),
      inner_(std::move(other.inner_)),
      edges_(std::move(other.edges_)) {}

host_writes::own_write& host_writes::own_write::operator=(own_write&& other) noexcept {
    if (this == &other) return *this;
    std::destroy_at(this);
    std::construct_at(this, std::move(other));
    return *this;
}

host_writes::own_write::~own_write() {
    if (!in_ || !in_->watch_) return;
    part_.for_each_run([&](byte_range run) { in_->images_.take_written(run); });
    end();
}

/// What the program has written beside this is told by the image of each unit, or, where that is older than what a look
/// has found meanwhile, by units. Where there is no memory to note that, all of the unit counts as found.
void host_writes::own_write::end() noexcept {
    const auto attempt = [](const auto& act) {
        try {
            act();
        } catch (const std::exception&) {  // the next look finds that the range cannot be watched
        }
    };
    for (const byte_range& each : inner_) attempt([&] { in_->watch_->arm(each); });
    for (const byte_range& unit : edges_) {
        const unit_images::after what_tells = in_->images_.end_writing(unit);
        if (what_tells == unit_images::after::other_writes) continue;
        attempt([&] {
            in_->keep_found();
            in_->watch_->scan(unit, in_->found_);
            if (what_tells == unit_images::after::look) {
                byte_ranges beside = byte_ranges::of(in_->found_);
                part_.for_each_run([&](byte_range run) { beside.take_out(run); });
                for (const byte_range& each : beside) in_->pending_.add(in_->known_.where(each, &knowledge::watched));
            } else {
                in_->pending_.add(in_->images_.differing(unit));
            }
            in_->found_.clear();  // it is told by now, and more exactly
            in_->images_.forget(unit, [&](byte_range of) { return in_->newer_elsewhere(of); });
        });
    }
}

}  // namespace unibuf::detail
