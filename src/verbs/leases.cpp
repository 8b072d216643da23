// verbs/leases.cpp: leases that are taken and ended under the lock.
#include "verbs/leases.hpp"

#include <fmt/format.h>

#include <optional>

#include "access/hold_waits.hpp"
#include "access/kernel_writes.hpp"
#include "access/lease_of.hpp"
#include "access/passage.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "access/usual_answer.hpp"

namespace unibuf::detail {
namespace {

bool is_newest_at(const coherence::knowledge& known, space where) noexcept {
    return known.current == coherence::set_of(where.id()) && known.what == coherence::content::written;
}

/// Ends a lease. `queue_work` notes the work that a lease by the lock leaves behind.
template <class QueueWork>
void end_lease(core& of, std::uint64_t ticket, QueueWork queue_work) {
    bool last = false;
    core_handle kept;  // the last handle may be a standing hold's, and that may end while its bytes go back to it
    {
        lock locked(of);
        if (locked->holds.any_standing()) kept = another_handle(of);
        if (ticket & gate::by_lock) {
            queue_work(locked, ticket >> 1);
        } else {
            of.solo.fetch_and(gate::by_lock, std::memory_order_acq_rel);
        }
        locked->tell_waiting();
        last = locked.is_last();
    }
    if (last) of.end();
}

}  // namespace

byte_lease take_lease(core& of, const access_request& request) {
    check_allowed(of, request);
    lock locked(of);
    bool changes = request.what != access::read;
    std::uint64_t taken_at = 0;
    if (is_free_and_current(*locked, request)) {
        locked->use_now();
        begin_to_use(*locked, request);
        changes = changes && !is_newest_at(locked->directory.first(), request.where);
        const bool is_first = locked->used_at(request.where);
        if (!changes && !is_first) locked.lease_keeps_gate();
        taken_at = record_access(locked, request);
    } else {
        passage way(locked, request);  // its claim ends before the lease is added: the lock is held between the two
        way.bring();
        taken_at = way.recorded_at();
    }
    std::optional<promise> in;
    if (changes) in.emplace(locked->directory, request.part);
    const copy& its_copy = *locked->copies.find(request.where.id());
    if (its_copy.queues) reserve_queued_work(*locked, request.where);
    const std::uint64_t ticket = locked->holds.add({.part = request.part,
                                                    .on = request.on,
                                                    .thread = this_thread(),
                                                    .where = request.where,
                                                    .what = request.what,
                                                    .taken_at = taken_at});
    if (changes) now_written(*locked, *in, request.part, request.where);
    if (locked->any_exposed) let_kernel_write(*locked, ticket, request);
    return lease_of(of, its_copy, request, ticket);
}

void end_lease_with(core& of, std::uint64_t ticket, work left) {
    end_lease(of, ticket, [&](lock& locked, std::uint64_t number) {
        if (left.done.native()) locked->holds.work().reserve(locked->holds.size());  // this lease is one of them
        const hold ended = locked->holds.end(number);
        record_end(*locked, ended);
        if (ended.opened) end_kernel_write(*locked, ended.part);
        if (ended.what != access::read) locked->note_write();
        if (!left.done.native()) return;
        locked->holds.work().add({.part = ended.part, .where = ended.where.id(), .writes = ended.what != access::read},
                                 std::move(left));
    });
}

void end_by_lock(gate& of, std::uint64_t ticket) noexcept {
    end_lease(static_cast<core&>(of), ticket, [](lock& locked, std::uint64_t number) {
        const hold ended = locked->holds.end(number);
        record_end(*locked, ended);
        if (ended.opened) end_kernel_write(*locked, ended.part);
        const bool writes = ended.what != access::read;
        if (writes) locked->note_write();
        if (!queue_work_of(*locked, ended.where, ended.part, writes, ended.on)) locked.lease_leaves_nothing();
    });
}

}  // namespace unibuf::detail

namespace unibuf {

void byte_lease::end(fence done) {
    if (!gate_) refuse();
    if (native_.where == host) {
        throw error(error_code::invalid_argument,
                    "a lease at host was to end with an event: it ends when the host has done its work");
    }
    end_with({.done = std::move(done), .on = {}, .unordered = true});
}

void byte_lease::end_with(detail::work left) {
    detail::end_lease_with(detail::core_of(gate_), ticket_, std::move(left));
    gate_ = nullptr;
}

void byte_lease::refuse() const {
    if (!gate_) throw error(error_code::invalid_argument, "a lease was used that has ended, or was moved from");
    throw error(
        error_code::unsupported,
        fmt::format(
            "a lease at {} has no bytes that the host can address: use its native handle, or take one at the host",
            native_.where.name()));
}

}  // namespace unibuf
