// access/recording.cpp: tells the trace what happens to a buffer.
#include "access/recording.hpp"

#include <algorithm>

#include "memory/moves.hpp"
#include "trace/tools.hpp"

namespace unibuf::detail {
namespace {

const void* memory_of(const copy& of) noexcept { return reinterpret_cast<const void*>(of.handle()); }

}  // namespace

event event_of(event_kind kind, std::uint64_t buffer, const region& part) noexcept {
    event result{.kind = kind, .buffer = buffer, .begin = part.begin(), .end = part.hull().end, .bytes = part.size()};
    if (const box* const rows = part.as_box()) {
        const backends::rectangle_copy shape = in_place(*rows);
        const bool fits = shape.axes <= result.counts.size();
        result.axes = fits ? static_cast<std::uint8_t>(shape.axes) : hull_only;
        if (!fits) return result;
        result.row_bytes = shape.row_bytes;
        for (std::size_t axis = 0; axis < shape.axes; ++axis) {
            result.counts[axis] = static_cast<std::uint32_t>(shape.counts[axis]);
            result.pitches[axis] = shape.here.pitches[axis];
        }
    }
    return result;
}

bool is_demand(const guarded& state, const access_request& request) noexcept {
    if (request.why == cause::eviction) return false;
    if (request.why != cause::sync && request.why != cause::prefetch) return true;
    const holds& held = state.holds;
    const coherence::space_id where = request.where.id();
    return held.handle_is_out(where) || held.view_is_out(where) || held.stands_at(request.where) ||
           (request.where == host && held.host_is_held_for_writing());
}

std::uint64_t lacked_by(const guarded& state, const access_request& request,
                        std::span<const coherence::step> steps) noexcept {
    const bool in_host_memory = state.shares_host(request.where);
    std::uint64_t result = 0;
    for (const coherence::step& each : steps) {
        const bool arrives = each.to == request.where.id() || (in_host_memory && each.to == coherence::host);
        if (each.does == coherence::step::kind::move && arrives) result += each.part.size();
    }
    return result;
}

std::uint64_t record_access(lock& locked, const access_request& request, std::uint64_t lacked,
                            std::uint64_t begun) noexcept {
    if (!request.is_recorded || !trace::is_on()) return 0;
    const guarded& state = *locked;
    event made = event_of(event_kind::access, state.id, request.part);
    // What was recorded last under this lock may have been before the first step.
    made.time = locked.recorded.time != 0 && locked.recorded.time >= begun ? locked.recorded.time : trace::now();
    made.why = request.why;
    made.what = request.what;
    made.to = request.where.id();
    made.is_demand = is_demand(state, request);
    made.bytes = lacked;
    made.took = begun == 0 ? 0 : made.time - begun;
    made.queue = reinterpret_cast<std::uintptr_t>(request.on.handle.native);
    trace::record(made, locked.recorded);
    return made.time;
}

std::uint64_t note_access(lock& locked, const access_request& request, std::uint64_t lacked,
                          std::uint64_t begun) noexcept {
    const std::uint64_t time = record_access(locked, request, lacked, begun);
    locked->used_at(request.where);
    if (lacked != 0 && !is_demand(*locked, request)) locked->unasked = request.where.id();
    return time;
}

void record(event_kind kind, const guarded& state, const region& part, space where, trace::moment& of_call) noexcept {
    if (!trace::is_on()) return;
    event made = event_of(kind, state.id, part);
    made.time = of_call.time;
    made.what = access::write;
    made.to = where.id();
    trace::record(made, of_call);
}

void record(event_kind kind, const guarded& state, const region& part, space where) noexcept {
    trace::moment alone;
    record(kind, state, part, where, alone);
}

void record_wait(const guarded& state, const access_request& request, std::uint64_t begun) noexcept {
    if (begun == 0 || !trace::is_on()) return;
    event made = event_of(event_kind::wait, state.id, request.part);
    made.time = trace::now();
    made.why = request.why;
    made.what = request.what;
    made.to = request.where.id();
    made.took = made.time - begun;
    trace::record(made);
}

void record_end(const guarded& state, const hold& ended) noexcept {
    if (ended.taken_at == 0 || !trace::is_close()) return;
    event made = event_of(event_kind::lease_end, state.id, ended.part);
    made.time = trace::now();
    made.what = ended.what;
    made.to = ended.where.id();
    made.took = made.time - ended.taken_at;
    trace::record(made);
}

void record_release(const guarded& state, const copy& gone, trace::moment& of_call) noexcept {
    const space where = space::from_id(gone.where);
    record(event_kind::release, state, byte_range{0, state.whole().size()}, where, of_call);
    if (trace::any_tool) trace::tell_freed(state.id, where, memory_of(gone), state.copies.bytes());
}

trace::moment record_allocations(const guarded& state, const copy_list& made, std::uint64_t begun) noexcept {
    trace::moment last;
    for (const copy& each : made.copies) {
        if (trace::any_tool)
            trace::tell_allocated(state.id, space::from_id(each.where), memory_of(each), state.copies.bytes());
        if (!trace::is_on()) continue;
        event allocated = event_of(event_kind::allocation, state.id, byte_range{0, state.whole().size()});
        allocated.to = each.where;
        allocated.from = each.placed == placement::shared ? each.lender : each.where;
        allocated.bytes = each.placed == placement::shared ? 0 : state.copies.bytes();
        allocated.is_pooled = state.seldom && state.seldom->pooled;
        allocated.time = trace::now();
        if (begun != 0 && &each == &made.copies.front()) allocated.took = allocated.time - begun;  // of all of them
        trace::record(allocated, last);
    }
    return last;
}

}  // namespace unibuf::detail
