// access/ends.cpp: members of a buffer that need rooms above its own: how it ends, and what it says of its state.
#include "access/passage.hpp"
#include "access/peer_access.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "backends/spaces.hpp"
#include "coherence/state.hpp"
#include "trace/contents.hpp"

namespace unibuf::detail {

core::~core() {
    handles_.store(ending, std::memory_order_release);
    if (state_.peers()) leave_peers(*this);
    // Whoever attaches what processes share has waited for what was newer here.
    if (state_.named) state_.seldom->forget_names(*this);
    if (state_.resident) residents::instance().remove(state_.among_residents);
    state_.holds.work().any([this](const coherence::queued_work& each, const work& under_way) {
        if (may_go_before(under_way, each.where)) return false;
        try {
            under_way.done.wait();
        } catch (...) {  // the bytes are going anyway
        }
        return false;
    });
    if (state_.any_handed_out) wait_for_unnamed_work(state_);
    trace::moment of_end;
    for (const copy& each : state_.copies) record_release(state_, each, of_end);
    if (trace::is_close()) trace::forget_contents(id());
    state_.seldom.reset();  // host_writes watches the host's copy
    state_.copies.free_all();
}

/// Returns whether the driver keeps the memory that the program's work uses until that is done. An event of the
/// program's own may stand for work that is not submitted yet.
bool core::may_go_before(const work& under_way, coherence::space_id where) const noexcept {
    const copy* const its_copy = state_.copies.find(where);
    return !under_way.transfer && !under_way.unordered && its_copy && its_copy->placed == placement::mirrored &&
           backends::device_of(space::from_id(where)).about().frees_behind_work;
}

buffer_state core::state() {
    const std::scoped_lock guard(mutex_);
    if (state_.peers()) return state_among_peers(state_);
    if (!state_.any_exposed) return coherence::state_of(state_.directory, state_.copies.allocated());
    return coherence::state_of(state_.writes()->look(), state_.copies.allocated());
}

}  // namespace unibuf::detail
