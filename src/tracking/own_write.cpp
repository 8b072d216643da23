// tracking/own_write.cpp: unibuf's own writes to the host's copy.
#include <exception>
#include <memory>
#include <utility>

#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::knowledge;

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
        edges_.push_back(unit);
        in_->compare(unit);
    }
    byte_ranges inner;
    for (const byte_range& piece : in_->known_.where(in_->units_.within(run), &knowledge::watched)) {
        inner.add(in_->units_.around(piece));
    }
    in_->scan(inner);
    inner_.add(inner);
    for (const byte_range& each : inner) in_->watch_->disarm(each);
    in_->arriving_.add(run);
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

host_writes::own_write::~own_write() { end(); }

/// What the program has written beside the part meanwhile is kept. Where there is no memory for that, or the watch has
/// come to an end, nothing is watched any more.
void host_writes::own_write::end() noexcept {
    if (!in_ || !in_->watch_) return;
    try {
        part_.for_each_run([&](byte_range run) {
            in_->watch_->take_bytes(run);
            in_->arriving_.take_out(run);
        });
        for (const byte_range& each : inner_) in_->watch_->arm(each);
        for (const byte_range& unit : edges_) {
            in_->scan(unit);
            in_->leave_to_kernel(unit);
        }
    } catch (const std::exception&) {
        in_->give_up();
    }
}

}  // namespace unibuf::detail
