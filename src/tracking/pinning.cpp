// tracking/pinning.cpp: pages that are there though the program has not written them: a driver has pinned them.
#include <exception>
#include <utility>

#include "coherence/transitions.hpp"
#include "tracking/host_writes.hpp"

namespace unibuf::detail {

using coherence::knowledge;
using coherence::pointers;

/// Watches bytes of memory that was new, of which the host is current, and keeps what was touched of them.
void host_writes::watch_fresh(byte_range in) {
    const auto fresh_at_host = [](const knowledge& k) { return k.out == pointers::fresh && k.at_host(); };
    for (const byte_range& each : known_.where(in, fresh_at_host)) {
        // In the units at its ends other bytes may be watched, so these units count as touched.
        for (const byte_range& edge : units_.cut_by(each)) {
            found_.push_back(edge.clipped_to(each));
            arm(edge.clipped_to(each));
        }
        if (const byte_range inner = units_.within(each); !inner.empty()) watch_->arm_fresh(inner, found_);
        coherence::expose(known_, each, pointers::watched);
        keep_found();
    }
}

void host_writes::begin_pinning() {
    if (!watch_ || watch_->compares()) return;
    try {
        watch_fresh(known_.whole());
        memory_was_used();
        const byte_ranges watched = known_.where(known_.whole(), &knowledge::watched);
        auto by_contents = std::make_unique<tracking::content_watch>(std::move(watch_), host_, watched, found_);
        pinning_ = by_contents.get();
        watch_ = std::move(by_contents);
        keep_found();
    } catch (const std::exception&) {
        give_up();
    }
}

void host_writes::end_pinning() noexcept {
    if (!pinning_) return;
    try {
        collect(known_.whole());
        watch_ = std::move(*std::exchange(pinning_, nullptr)).end();
    } catch (const std::exception&) {
        give_up();
    }
}

}  // namespace unibuf::detail
