// access/passage.cpp: the stages of an access, in their order.
#include "access/passage.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <utility>

#include "access/borrowing.hpp"
#include "access/copy_making.hpp"
#include "access/hold_waits.hpp"
#include "access/letting_go.hpp"
#include "access/peer_access.hpp"
#include "access/poison.hpp"
#include "access/recording.hpp"
#include "access/standing.hpp"
#include "access/usual_answer.hpp"
#include "access/waits.hpp"
#include "backends/spaces.hpp"
#include "trace/guards.hpp"
#include "trace/told.hpp"

namespace unibuf::detail {
namespace {

/// Throws where a holder that is asked to let go runs on this thread: it is within somebody's access, and may not wait
/// for that.
void check_not_asking(const guarded& state, const access_request& request) {
    if (!is_asking()) return;
    throw error(
        error_code::access_conflict,
        fmt::format("{}: {} was asked for by the holder of a view who was asked to let go of it, while a copy of "
                    "the buffer was made: wait until that has ended",
                    state.name(), describe(request)));
}

/// Forgets work of the parent process that only reads: what that reads is the parent's memory, not this process's.
void forget_readers_left_behind(work_list& queued) noexcept {
    queued.remove_where([](const coherence::queued_work& each, const work&) {
        return !each.writes && backends::is_left_behind(space::from_id(each.where));
    });
}

/// Returns whether guards let the transfer pass: the program asked for it by name, or it makes room.
bool passes_guards(cause why) noexcept {
    return why == cause::sync || why == cause::prefetch || why == cause::copy_to || why == cause::eviction;
}

/// Asks the guards of this thread about the moves among the steps.
void ask_guards_about(const guarded& state, const access_request& request, std::span<const coherence::step> steps) {
    if (steps.empty() || !request.is_guarded || passes_guards(request.why) || !trace::has_guard()) return;
    std::map<std::pair<coherence::space_id, coherence::space_id>, std::uint64_t> moved;
    for (const coherence::step& each : steps) {
        if (each.does != coherence::step::kind::move) continue;
        moved[{each.from, each.to}] += each.part.size();
    }
    for (const auto& [along, bytes] : moved) {
        const space from = space::from_id(along.first);
        const space to = space::from_id(along.second);
        const guard_action action = trace::guard_action_for(from, to);
        if (action == guard_action::allow) continue;
        const std::string text = fmt::format("{}: {} takes {} bytes from {} to {}", state.name(), describe(request),
                                             bytes, from.name(), to.name());
        if (action == guard_action::log) {
            std::fputs(("unibuf: " + text + "\n").c_str(), stderr);  // without a reader of stderr the text is lost
            continue;
        }
        throw error(
            error_code::access_conflict,
            text + ", and a guard refuses transfers that are not asked for by name: by sync, prefetch or a copy");
    }
}

/// Throws where bytes come from several devices to the host, and a queue is named: it is one device's.
void check_queue_is_of_all(const access_request& request, std::span<const coherence::step> steps) {
    if (!request.on || request.where != host || request.queue_of != host) return;
    coherence::space_id first = no_space;
    for (const coherence::step& each : steps) {
        if (each.does != coherence::step::kind::move && each.does != coherence::step::kind::publish) continue;
        const coherence::space_id executor = executor_of(each);
        if (first == no_space) first = executor;
        if (executor == first) continue;
        throw error(error_code::invalid_argument,
                    fmt::format("{} was asked for, and a queue was named, but bytes come from {} and from {}: name "
                                "none, or sync the bytes of each first",
                                describe(request), space::from_id(first).name(), space::from_id(executor).name()));
    }
}

/// Throws where the host is the default device, and bytes are newest at a device that the caller may have meant.
void check_host_is_meant(const guarded& state, const region& part) {
    const coherence::space_set allocated = state.copies.allocated();
    const coherence::space_set complete = coherence::complete_at(state.directory, part, allocated);
    if (coherence::has(complete, coherence::host)) return;
    space newest = host;
    coherence::for_each_space(allocated, [&](coherence::space_id each) {
        const space at = space::from_id(each);
        if (!backends::is_host(at) && !coherence::only_at(state.directory, part, each).empty()) newest = at;
    });
    if (newest == host) return;
    throw error(error_code::access_conflict,
                fmt::format("{}: to mark {} dirty at the default device was asked for, which is the host, but the "
                            "newest are at {}: name that space, or make it the default device",
                            state.name(), describe(part), newest.name()));
}

}  // namespace

passage::passage(lock& locked, const access_request& request)
    : lock_(locked), request_(request), transfers_(locked, request_) {
    check_allowed(lock_.of(), request_);
    if (request_.aim == purpose::use) backends::check_usable(request_.where);
    lock_->use_now();
    if (process::fork_count.load(std::memory_order_relaxed) != 0) forget_readers_left_behind(lock_->holds.work());
    ask();
    enter();
    pause();
    refuse();
    follow(request);
    if (request.aim == purpose::declare && request.where == host_as_device) check_default();
    find();
    check();
}

void passage::ask() {
    if (request_.waits_for_holds) forget_events(lock_, request_);
    if (request_.asks_holders) ask_writers_of_host(lock_, request_.where, request_.part);
}

void passage::enter() {
    if (lock_->making_copy) check_not_asking(*lock_, request_);
    if (request_.aim == purpose::declare) {
        const bool is_default = request_.where == host_as_device;
        if (is_default && !at()) request_.where = host;  // it stands for the device without device() having been called
        wait_for_holds(lock_, request_);
        if (!is_default) check_allocated(*lock_, at(), request_.where, "to mark it dirty");
        return;
    }
    if (request_.aim == purpose::drop) {
        do {
            wait_for_holds(lock_, request_);
        } while (wait_for_maker(lock_, request_));
        return;
    }
    do {
        wait_for_holds(lock_, request_);
        choose_place();
    } while (make_copy(lock_, request_) || take_memory(lock_, request_));
}

void passage::choose_place() {
    if (request_.aim != purpose::fill) return;
    if (lock_->peers()) follow_peers(*lock_, {.part = request_.part, .where = host, .what = access::read});
    request_.where =
        space::from_id(coherence::place_to_fill(lock_->directory, request_.part, lock_->copies.allocated()));
    if (lock_->holds.stay_at_host(request_.part)) request_.where = host;
}

void passage::pause() {
    if (!lock_->holds.any_standing() && !lock_->any_open) return;
    pause_elsewhere(lock_, request_, transfers_.own_claim());
}

void passage::refuse() const {
    if (lock_->holds.any_standing()) check_not_broken(*lock_, request_);
    check_may_leave_host(*lock_, request_);
}

/// Learns what other processes may have written; a drop asks them as a read at the host would. Only a mark of all bytes
/// at the host overrules them. `as_made` is the request before `enter` has put the host in the place of
/// host_as_device: a mark of that device overrules nobody.
void passage::follow(const access_request& as_made) {
    if (!lock_->peers() || as_made.settles_for_all(lock_->whole().size())) return;
    if (request_.aim != purpose::drop) return follow_peers(*lock_, request_);
    follow_peers(*lock_, {.part = request_.part, .where = host, .what = access::read});
}

/// Looks whether a mark of the default device, which is the host, may be meant for another: once it is known what
/// other processes have overtaken, and before stores of the program are forgotten.
void passage::check_default() const {
    check_host_is_meant(*lock_, request_.part);
    check_allocated(*lock_, at(), request_.where, "to mark it dirty");
}

void passage::find() {
    if (!lock_->any_exposed) return;
    if (request_.aim == purpose::declare) {
        wait_for_work_in_host_memory(lock_, request_);
        return lock_->writes()->forget(request_.part);
    }
    find_host_writes(lock_, request_);
}

void passage::check() const {
    if (request_.aim != purpose::use || request_.what == access::write) return;
    check_not_lost(*lock_, request_);
    check_not_contested(*lock_, request_);
}

void passage::bring() {
    coherence::steps steps;
    plan(steps);
    if (request_.what != access::read) before_device_writes(*lock_, request_.part, request_.where, request_.joint);
    if (!steps.empty()) transfers_.run(steps, &promise_.emplace(lock_->directory, request_.part));
    if (request_.aim == purpose::use) {
        recorded_at_ = note_access(lock_, request_, lacked_by(*lock_, request_, steps), transfers_.begun());
    }
    // Queued work in the host's memory keeps the gate shut for the host, so work that is done is forgotten at once.
    if (request_.where == host && lock_->host_memory_is_busy()) lock_->holds.work().forget_done(request_.part, true);
    if (lock_->any_exposed && request_.where == host) lock_->writes()->expose_again(request_.part.hull());
    poison_unseen(*lock_, *at(), request_.part);
}

void passage::plan(coherence::steps& to) {
    forget_done();
    plan_for(*lock_, request_, request_.part, to);
    check_queue_is_of_all(request_, to);
    ask_guards_about(*lock_, request_, to);
}

void passage::ask_guards() {
    if (!trace::has_guard()) return;
    coherence::steps steps;
    plan(steps);
    request_.is_guarded = false;
}

/// Forgets queued work that is done; work_list says when it asks the drivers.
void passage::forget_done() noexcept {
    work_list& queued = lock_->holds.work();
    if (!queued.empty() && !steps_are_behind(*lock_, request_)) queued.forget_done(request_.part);
}

void passage::keep_others_off() { transfers_.claim(request_.part); }

void passage::fill(std::span<const std::byte> pattern) {
    if (!promise_) promise_.emplace(lock_->directory, request_.part);
    transfers_.fill(pattern, *promise_);
    now_written(*lock_, *promise_, request_.part, request_.where);
}

void wait_for_all_work(lock& locked, const region& part, const access_request& request) {
    coherence::steps steps;
    coherence::plan_to_drop(locked->holds.work().by_range(), part, steps);
    if (!steps.empty()) transfers(locked, request).run(steps, nullptr);
}

void find_host_writes(lock& locked, const access_request& request) {
    wait_for_work_in_host_memory(locked, request);
    // All bytes between scattered rows are looked at in one go, if nobody else holds any of them: what another access
    // does between the rows would be taken for the program's stores.
    const region hull(request.part.hull());
    const bool at_once = host_writes::is_scattered(request.part) && !locked->holds.any_other(hull, 0);
    locked->writes()->find(at_once ? hull.hull() : runs_of(request.part), request.where, request.what);
    if (at_once && request.where == host && request.what != access::read)
        locked->writes()->before_scattered_writes(request.part);
    locked->any_exposed = locked->holds.host_is_held_for_writing() || coherence::any_exposed(locked->directory);
}

void plan_for(const guarded& state, const access_request& request, const region& part, coherence::steps& to) {
    coherence::space_set found_later = 0;
    if (request.why == cause::host_pointer) {
        // Comparing finds no store that leaves a byte as it was. So other spaces stay current only where pages are
        // watched, or where they are in the host's own memory.
        const bool by_pages = state.copies.find(coherence::host)->memory->whole_pages() &&
                              state.whole().size() > tracking::most_compared();
        found_later = by_pages ? ~coherence::space_set{0} : coherence::set_of(host_as_device.id());
    }
    const coherence::queued_works none;
    coherence::plan(state.directory, state.copies.memories(),
                    steps_are_behind(state, request) ? none : state.holds.work().by_range(),
                    {.part = part,
                     .where = request.where.id(),
                     .what = request.what,
                     .found_later = found_later,
                     .stay = request.joint,
                     .handed_out = request.why == cause::device_handle},
                    to);
}

void now_written(guarded& state, const promise& in, const region& part, space where) noexcept {
    state.note_write();
    coherence::wrote(in, part, where.id());
    if (state.any_exposed && where != host) state.writes()->device_has_written(part);
    state.copies.find(where.id())->untouched = false;
    if (copy* const at_host = state.copies.find(coherence::host)) at_host->untouched = false;
    poison_stale(state, part);
}

void about_to_overwrite(guarded& state, const promise& in, const access_request& request) noexcept {
    const coherence::space_id where = request.where.id();
    state.copies.find(where)->untouched = false;
    coherence::about_to_overwrite(in, request.part, where, state.copies.memories().group(where), state.any_exposed);
}

void before_device_writes(guarded& state, const region& part, space where, bool joint) {
    if (where == host || !state.any_exposed) return;
    if (!state.shares_host(where)) return state.writes()->before_device_writes(part);
    state.writes()->before_scattered_writes(part);
    // The program's writes are still looked for until all of a joint access write.
    if (!joint) state.writes()->stop_watching(promise(state.directory, part), part);
}

void check_allowed(const core& of, const access_request& request) {
    check_content_may_change(of, request);
    if (request.aim == purpose::use && request.where == host && request.keeps_to_mode) check_host_may(of, request.what);
}

void check_constant(const core& of, const access_request& request) {
    if (request.what == access::read || request.part.empty()) return;
    // A mark of the host tells of what somebody else has written there. A copy may go, but the memory of a part of it
    // would be written when the part is needed again.
    const bool is_of_all = request.part == region(byte_range{0, of.bytes});
    if (request.aim == purpose::declare && request.where == host) return;
    if (request.aim == purpose::drop && (is_of_all || !backends::is_host(request.where))) return;
    throw error(error_code::invalid_argument,
                fmt::format("{}: {}{} was asked for, but its content is constant: it was made over memory for reading",
                            of.name(), describe(request),
                            request.where == host_as_device ? ", in the place of the default device," : ""));
}

void check_host_may(const core& of, access what) {
    const host_access allowed = of.options().access;
    if (allowed == host_access::read_write || of.is_for_host()) return;
    if (allowed == host_access::read_only && what != access::read) {
        throw error(error_code::invalid_argument, of.name() + " was created read_only: the host may not write it");
    }
    if (allowed == host_access::write_only && what != access::write) {
        throw error(error_code::invalid_argument, of.name() + " was created write_only: the host may not read it");
    }
}

void check_not_lost(guarded& state, const access_request& request) {
    if (!state.any_lost) return;
    const byte_range lost = coherence::lost_in(state.directory, request.part);
    if (lost.empty()) {
        state.any_lost = !coherence::lost_in(state.directory, state.whole()).empty();
        return;
    }
    throw error(error_code::transfer_failed,
                fmt::format("{}: {} was asked for, but bytes [{}, {}) were lost when queued work failed: write them "
                            "again, or use discard_content{}",
                            state.name(), describe(request), lost.begin, lost.end, trace::last_writes(state.id, lost)));
}

void check_not_contested(const guarded& state, const access_request& request) {
    if (!state.any_exposed) return;
    const byte_range contested = coherence::contested_in(state.directory, request.part);
    if (contested.empty()) return;
    throw error(
        error_code::access_conflict,
        fmt::format(
            "{}: {} was asked for, but among bytes [{}, {}) some were written at the host, through a pointer, while a "
            "device had newer ones (stores are found by {}): mark_host_dirty, mark_device_dirty or discard says "
            "which stand, of all or of parts{}",
            state.name(), describe(request), contested.begin, contested.end,
            state.whole().size() > tracking::most_compared() ? "pages" : "lines of 64 bytes",
            trace::last_writes(state.id, contested)));
}

void check_may_leave_host(const guarded& state, const access_request& request) {
    if (request.what == access::read || request.aim == purpose::drop) return;
    if (backends::is_host(request.where) || !state.holds.stay_at_host(request.part)) return;
    const captured_upload* const by = state.holds.upload_of(request.part);
    if (!by) {
        throw error(error_code::access_conflict,
                    fmt::format("{}: {} was asked for, but an io_view of some of these bytes is out, so that they may "
                                "be written at the host at any time: write them there, or end it first",
                                state.name(), describe(request)));
    }
    throw error(
        error_code::access_conflict,
        fmt::format("{}: {} was asked for, but a graph of the program uploads bytes [{}, {}) from the host to {} "
                    "whenever it is launched: write them at the host, or end the view of capture_upload",
                    state.name(), describe(request), by->range.begin, by->range.end, by->where.name()));
}

}  // namespace unibuf::detail
