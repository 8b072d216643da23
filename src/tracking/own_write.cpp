// tracking/own_write.cpp: unibuf's own writes to the host's copy.
#include <exception>
#include <utility>

#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

/// Brings an image up to date: what the program wrote before now would be taken for written again.
void host_writes::refresh_image(byte_range unit) {
    if (!images_.has(unit)) return take_image(unit, unit);
    if (images_.being_written(unit)) return;
    const auto told_by_unit = [](const coherence::knowledge& k) { return !is_newer_elsewhere(k); };
    for (const byte_range& piece : known_.where(unit, told_by_unit)) take_image(unit, piece);
}

host_writes::own_write::own_write(host_writes& in, byte_range range) : range_(range) {
    if (!in.watch_ || range.empty() || !in.known_.any(in.units_.around(range), &coherence::knowledge::watched)) return;
    try {
        for (const byte_range& unit : in.units_.cut_by(range)) {
            in.refresh_image(unit);
            in.images_.begin_writing(unit);
            edges_.push_back(unit);
        }
        inner_ = in.known_.where(in.units_.within(range), &coherence::knowledge::watched);
        in.scan(inner_);
        for (const byte_range& each : inner_) in.watch_->disarm(each);
        in_ = &in;
    } catch (const error&) {  // the next look finds that the range cannot be watched
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
        in_->images_.take_written(range_);
        for (const byte_range& unit : edges_) {
            std::vector<byte_range> seen;  // not used, as the image tells byte by byte
            in_->watch_->scan(unit, seen);
            in_->pending_.add(in_->images_.end_writing(unit));
            in_->images_.forget(unit, [&](byte_range of) { return in_->newer_elsewhere(of); });
        }
    } catch (const std::exception&) {  // the next look finds that the range cannot be watched
    }
}

}  // namespace unibuf::detail
