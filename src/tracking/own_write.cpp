// tracking/own_write.cpp: writes to the host's copy that are not the program's stores: unibuf's own, drivers', the
// kernel's.
#include <exception>
#include <memory>
#include <utility>

#include "tracking/host_writes.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::knowledge;

host_writes::own_write::own_write(host_writes& in, const region& part) {
    if (!in.watches_any_of(part.hull())) return;
    if (!is_scattered(part)) {
        begin(in, runs_of(part));
        return;
    }
    try {
        in.assume(in.units_.around(part.hull()));
    } catch (const error&) {  // the next look finds that the range cannot be watched
    }
}

host_writes::own_write::own_write(host_writes& in, byte_ranges runs) {
    if (!runs.empty() && in.watches_any_of(runs.hull())) begin(in, std::move(runs));
}

void host_writes::own_write::begin(host_writes& in, byte_ranges runs) {
    in_ = &in;
    runs_ = std::move(runs);
    try {
        begin();
    } catch (const error&) {  // the next look finds that the range cannot be watched
        in_ = nullptr;
    } catch (...) {
        end();
        throw;
    }
}

void host_writes::own_write::begin() {
    const tracking::units& units = in_->units_;
    byte_ranges inner;
    for (const byte_range& run : runs_) {
        for (const byte_range& unit : units.cut_by(run)) edges_.add(unit);
        inner.add(units.around(in_->known_.where(units.within(run), &knowledge::watched)));
    }
    units.for_each(edges_, [&](byte_range unit) { in_->compare(unit); });
    in_->scan(inner);
    inner_ = inner;
    for (const byte_range& each : inner) in_->watch_->disarm(each);
    opened_ = in_->let_kernel_write(runs_);
    in_->arriving_.add(runs_);
}

host_writes::own_write::own_write(own_write&& other) noexcept
    : in_(std::exchange(other.in_, nullptr)),
      runs_(std::move(other.runs_)),
      inner_(std::move(other.inner_)),
      opened_(other.opened_),
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
        if (opened_) in_->end_kernel_write(runs_);
        for (const byte_range& run : runs_) in_->watch_->take_bytes(run);
        in_->arriving_.take_out(runs_);
        for (const byte_range& each : inner_) in_->watch_->arm(each);
        in_->scan(edges_);
        for (const byte_range& each : edges_) in_->leave_to_kernel(each);
    } catch (const std::exception&) {
        in_->give_up();
    }
}

bool host_writes::let_kernel_write(const byte_ranges& runs) const {
    if (!watch_ || !tracking::kernel::is_by_signal()) return false;
    for (const byte_range& pages : units_.around(runs)) watch_->let_kernel_write(pages);
    return true;
}

void host_writes::end_kernel_write(const byte_ranges& runs) const {
    if (!watch_) return;
    for (const byte_range& pages : units_.around(runs)) watch_->end_kernel_write(pages);
}

void host_writes::begin_pinning() {
    if (!watch_ || watch_->compares_all()) return;
    try {
        watch_fresh(known_.whole());
        memory_was_used();
        collect(known_.whole());
        watch_->let_kernel_write(known_.whole());
        pinning_ = true;
    } catch (const std::exception&) {
        give_up();
    }
}

void host_writes::end_pinning() noexcept {
    if (!pinning_) return;
    try {
        watch_->end_kernel_write(known_.whole());
        collect(known_.whole());
    } catch (const std::exception&) {
        give_up();
    }
    pinning_ = false;
}

}  // namespace unibuf::detail
