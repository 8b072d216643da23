// access/transfers.cpp: starts steps, finishes them, and tells the directory which are done.
#include "access/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <iterator>

#include "access/counts.hpp"
#include "access/gaps.hpp"
#include "access/passage.hpp"
#include "access/waits.hpp"
#include "backends/pattern.hpp"
#include "backends/spaces.hpp"
#include "containers/first_failure.hpp"
#include "containers/room.hpp"
#include "memory/moves.hpp"
#include "trace/counters.hpp"
#include "trace/recorder.hpp"
#include "trace/tools.hpp"
#include "tracking/watch.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {

using coherence::space_id;
using coherence::step;
namespace {

constexpr std::size_t least_bytes_to_ask = std::size_t{256} << 10;  // which pages were touched, before they are zeroed

}  // namespace

void transfers::run(std::span<const step> planned, promise* in) {
    if (planned.empty()) return;
    assert(in || std::ranges::all_of(planned, [](const step& each) { return each.does == step::kind::wait; }));
    promise_ = in;
    if (request_.waits.by) at_once_ = bytes_between_looks;
    host_writes* const writes = lock_->writes();
    times_ = writes && writes->compares_by_digest();
    const auto is_digested = [&](const step& of) { return of.is_sent() && !writes->digested(of.part, of.to).empty(); };
    if (times_ && std::ranges::any_of(planned, is_digested)) at_once_ = tracking::section_bytes;
    if (at_once_ == all_at_once) {
        run_all(planned);
    } else {
        coherence::steps parts;
        add_in_parts(planned, at_once_, parts);
        run_all(parts);
    }
    if (times_) lock_->end_sending();
}

void transfers::run_all(std::span<const step> planned) {
    claim(request_.part);
    executor_ = request_.where.id();
    returns_early_ = find_executor(planned);
    mover_ = only_mover(planned);
    started_.reserve(planned.size());
    for (const step& each : planned) {
        if (each.does != step::kind::wait) promise_->divide(each.part);
    }
    try {
        carry_out(planned);
    } catch (const error& failure) {
        rethrow_naming_access(lock_.of(), request_, failure);
    }
    for (const work_list::ticket& ticket : ordered_) lock_->holds.work().remove(ticket);
}

/// Returns whether the host has to wait for a move from one device to another: it carries the bytes itself, or somebody
/// has a handle of the source, and may overwrite it without waiting for the move.
bool transfers::is_waited_for(const step& move) const {
    if (move.from == coherence::host || move.to == coherence::host) return false;
    const backends::memory& from = *lock_->copies.find(move.from)->memory;
    const bool carried = from.host_address() || !lock_->copies.find(move.to)->memory->takes_from(from);
    const holds& held = lock_->holds;
    return carried || held.handle_is_out(move.from) || held.view_is_out(move.from) ||
           held.stands_at(space::from_id(move.from));
}

/// Finds the one device that carries out all steps, so that later work can be ordered behind them there. Returns false
/// where there is none, or the host has to wait for the steps.
bool transfers::find_executor(std::span<const step> planned) {
    const bool wanted = request_.may_return_early || (request_.on && request_.where != host);
    // Where pointers are out, bytes that arrive after the call would be taken for the program's stores.
    if (!wanted || (request_.where == host && lock_->any_exposed)) return false;
    for (const step& each : planned) {
        if (each.does == step::kind::wait) continue;
        if (each.does == step::kind::move && is_waited_for(each)) return false;
        const space_id by = executor_of(each);
        if (by == coherence::host) return false;  // what the host does comes behind no queue
        if (executor_ != coherence::host && executor_ != by) return false;
        executor_ = by;
    }
    return executor_ != coherence::host;
}

void transfers::carry_out(std::span<const step> planned) {
    time_point begin = begun_ = std::chrono::steady_clock::now();
    try {
        for (auto next = planned.begin(); next != planned.end();) {
            // Moves between the same two memories are independent of each other, and may be under way together.
            std::size_t bytes = next->part.size();
            const auto end = std::find_if(std::next(next), planned.end(), [&](const step& each) {
                bytes += each.part.size();
                return !each.is_like(*next) || bytes > at_once_;
            });
            finish_started();
            if (request_.waits.by && next != planned.begin()) {
                const lock::released unlocked(lock_);
                request_.waits.ask();
            }
            if (next != planned.begin()) begin = std::chrono::steady_clock::now();
            start({next, end}, begin);
            if (times_ && next->is_sent()) finish_timed(next->to, begin);
            next = end;
        }
    } catch (...) {
        try {
            finish_started();
        } catch (...) {  // the first failure is the one to tell of
        }
        throw;
    }
    finish_started();
}

void transfers::start(std::span<const step> group, time_point begin) {
    if (group[0].does == step::kind::move) return start_moves(group, begin);
    for (const step& each : group) {
        if (each.does == step::kind::wait) {
            wait(each);
            continue;
        }
        in_flight now{each, {}, {}};
        if (each.does == step::kind::publish) now.own_write = own_write_of(each.part, each.to);
        now.done = each.does == step::kind::publish ? publish(each) : zero(each);
        started_.push_back(std::move(now));
    }
    leave_queued();
}

/// Starts moves between the same two memories, which their device may do in one call.
void transfers::start_moves(std::span<const step> group, time_point begin) {
    const step& first = group.front();
    part_list parts;
    add_parts_to_move(group, parts);
    image_list images;
    if (first.from == coherence::host) take_images(*lock_, *promise_, first.to, parts, images);
    const std::size_t as_they_are = parts.size();
    for (const sent_images::sending& each : images) parts.push_back(each.part());
    make_room(started_, parts.size());
    backends::memory& from = *lock_->copies.find(first.from)->memory;
    backends::memory& to = *lock_->copies.find(first.to)->memory;
    lock_->copies.find(first.to)->untouched = false;
    const queue on = queue_at(request_, executor_of(first));
    std::vector<backends::move_of> at_once;
    const bool is_cut = !images.empty() && parts.size() > 1;
    if (is_cut && !on && !lock_->copies.borrower_among(first.to)) at_once = moves_of(parts, images, from, to);
    backends::fences done;
    done.reserve(parts.size());
    few<std::optional<host_writes::own_write>, 1> own_writes;
    own_writes.reserve(parts.size());
    for (const region& each : parts) own_writes.push_back(own_write_of(each, first.to));
    std::exception_ptr failure;
    const bool awaits = trace::is_close() && !on;
    const auto* const source = reinterpret_cast<const void*>(lock_->copies.find(first.from)->handle());
    const auto* const target = reinterpret_cast<const void*>(lock_->copies.find(first.to)->handle());
    {
        const lock::released unlocked(lock_);
        const trace::told_copy told(lock_.of().id(), space::from_id(first.from), space::from_id(first.to), source,
                                    target, bytes_in(parts));
        try {
            if (!at_once.empty()) {
                backends::device_of(space::from_id(first.to)).move_many(backends::direction::to_device, at_once, done);
                done.resize(parts.size(), done.back());
            } else {
                if (as_they_are != 0) {
                    move_parts(from, to, first.to == coherence::host, std::span(parts).first(as_they_are), on, done);
                }
                for (const sent_images::sending& each : images) done.push_back(each.send(to, on));
            }
            for (const fence& each : done) {
                if (awaits) each.wait();
            }
        } catch (...) {
            failure = std::current_exception();
        }
    }
    for (std::size_t i = 0; i < done.size(); ++i) {
        step moved = first;
        moved.part = parts[i];
        moved.digested = i >= as_they_are && images[i - as_they_are].digested();
        started_.push_back({moved, done[i], std::move(own_writes[i])});  // there is room
        if (i >= as_they_are) images[i - as_they_are].is_taken_by(done[i]);
    }
    leave_queued();
    if (!done.empty()) {
        carried_out how{
            .why = request_.why, .on = on, .begin = begin, .end = std::chrono::steady_clock::now(), .arrived = awaits};
        const std::span moved = std::span(parts).first(done.size());
        const std::span unchanged = moved.first(std::min(moved.size(), as_they_are));
        if (!unchanged.empty()) count_transfers(lock_, first, unchanged, how);
        for (std::size_t i = as_they_are; i < moved.size(); ++i) {
            how.program = moved[i].is_range() ? images[i - as_they_are].bytes() : nullptr;
            count_transfers(lock_, first, moved.subspan(i, 1), how);
        }
    }
    if (failure) std::rethrow_exception(failure);
}

/// Adds the parts of the group; ranges among them come first, and may be joined over gaps. A gap that is carried along
/// does not count as current at the target until the move is done.
void transfers::add_parts_to_move(std::span<const step> group, part_list& to) {
    const step& first = group.front();
    if (group.size() == 1) return to.push_back(first.part);
    std::vector<byte_range> ranges;
    for (const step& each : group) {
        if (each.part.is_range()) ranges.push_back(each.part.hull());
    }
    if (ranges.size() > 1) {
        const std::size_t before = ranges.size();
        std::ranges::sort(ranges, {}, &byte_range::begin);  // pieces among boxes come in the order of the bands
        ranges = joined_over_gaps(*lock_, ranges, first, executor_of(first), request_.part, claim_.ticket());
        if (ranges.size() < before) {
            for (const byte_range& each : ranges) {
                promise_->update(each, [&](coherence::knowledge& k) { k.current &= ~coherence::set_of(first.to); });
            }
        }
    }
    for (const byte_range& each : ranges) to.push_back(each);
    for (const step& each : group) {
        if (!each.part.is_range()) to.push_back(each.part);
    }
}

/// Guards bytes that the host lacks while they arrive there, so that they are not taken for writes of the program.
std::optional<host_writes::own_write> transfers::own_write_of(const region& part, space_id to) {
    if (to != coherence::host || !lock_->any_exposed) return std::nullopt;
    const auto lacks = [](const coherence::knowledge& k) { return !k.at_host(); };
    if (!lock_->directory.any(part, lacks)) return std::nullopt;
    return std::optional<host_writes::own_write>(std::in_place, *lock_->writes(), part);
}

/// Makes queued work of started steps that go on after the call. Where this fails, the others are waited for.
void transfers::leave_queued() {
    if (!returns_early_) return;
    for (std::size_t i = started_.size(); i-- != 0;) {
        const in_flight& each = started_[i];
        if (!each.done.native()) continue;
        keep_queued(each.step, each.done);
        coherence::complete(*promise_, lock_->copies.memories(), each.step, each.step.part);
        started_.erase(&started_[i]);
    }
}

/// Waits for all steps that were started, and tells the directory of those that are done.
void transfers::finish_started() {
    first_failure failure;
    for (const in_flight& each : started_) {
        failure.attempt([&] {
            if (each.done.native()) {
                const lock::released unlocked(lock_);
                each.done.wait();
            }
            coherence::complete(*promise_, lock_->copies.memories(), each.step, each.step.part);
        });
    }
    started_.clear();
    failure.rethrow();
}

/// Waits for moves from the host to `device`, and notes what they took, if digests were kept of all bytes or of none.
void transfers::finish_timed(coherence::space_id device, time_point begin) {
    std::size_t bytes = 0;
    std::size_t digested = 0;
    const std::size_t pieces = started_.size();
    for (const in_flight& each : started_) {
        bytes += each.step.part.size();
        digested += each.step.digested ? each.step.part.size() : 0;
    }
    finish_started();
    if (bytes != 0 && (digested == 0 || digested == bytes) && lock_->writes())
        lock_->writes()->was_sent(device, bytes, pieces, std::chrono::steady_clock::now() - begin, digested != 0);
}

/// Queues a step that goes on after the call: until it is done, its copies stay as they are, but for a source of which
/// all has been taken.
void transfers::keep_queued(const step& step, const fence& done) {
    work_list& queued = lock_->holds.work();
    const work made{.done = done, .on = request_.on, .transfer = true};
    queued.reserve(lock_->holds.size() + 2);
    queued.add({.part = step.part, .where = step.to, .writes = true}, made);
    const auto* const upload = dynamic_cast<const backends::upload_work*>(done.native());
    const bool uses_source = step.does != step::kind::zero && !(upload && upload->has_taken_all());
    if (uses_source) queued.add({.part = step.part, .where = step.from}, made);
}

/// Waits for queued work. Where the device can order what comes next behind it, the host does not stop.
void transfers::wait(const step& before) {
    const work* const found = lock_->holds.work().find(before.ticket);
    if (found && !order_behind(before, *found)) wait_for_work(lock_, before.ticket, request_.waits);
}

bool transfers::order_behind(const step& before, const work& awaited) {
    if (returns_early_) return backends::device_of(space::from_id(executor_)).order(awaited.done, request_.on);
    // The transfers that are waited for come after the program's work. Transfers of unibuf's own may have failed, a
    // wait may have to end before the work, and the queue of evictions waits for nobody.
    const bool own = awaited.transfer || awaited.unordered;
    const bool host_waits = own || !request_.waits.is_endless() || request_.why == cause::eviction;
    if (mover_ == coherence::host || before.from != mover_ || host_waits) return false;
    make_room(ordered_);
    if (!backends::device_of(space::from_id(mover_)).order(awaited.done, queue_at(request_, mover_))) return false;
    ordered_.push_back(before.ticket);
    return true;
}

fence transfers::publish(const step& step) {
    const space_id device = executor_of(step);
    const copy& used_by_device = *lock_->copies.find(device);
    trace::count_publication();
    ++lock_->with_seldom_used().publications;
    if (used_by_device.on_host()) return {};  // the host in the place of a device has nothing to publish
    if (device == step.from && backends::is_left_behind(space::from_id(device))) {
        const auto lacks = [](const coherence::knowledge& k) { return !k.at_host(); };
        if (!lock_->directory.any(step.part, lacks)) return {};  // the device of the parent has written nothing
    }
    backends::memory& shared = *used_by_device.memory;
    const access what = step.seen && shared.publishes_content() ? access::write : step.what;  // no byte moves for that
    const queue on = queue_at(request_, device);
    const bool is_sent = device == step.to && what != access::write && shared.publishes_content();
    if (is_sent && lock_->any_exposed) send_as_it_is(*lock_, step.part);
    const bool to_host = device == step.from;
    fence done;
    const lock::released unlocked(lock_);
    if (const box* const of = step.part.as_box()) {
        const backends::rectangle_copy rows = in_place(*of);
        done = to_host ? shared.publish_rows_to_host(rows, what, on) : shared.publish_rows_to_device(rows, what, on);
    } else {
        const auto [begin, end] = step.part.hull();
        done = to_host ? shared.publish_to_host(begin, end - begin, what, on)
                       : shared.publish_to_device(begin, end - begin, what, on);
    }
    if (!returns_early_) return done;
    auto* const late = dynamic_cast<backends::late_work*>(done.native());
    return late ? late->so_far() : done;  // nobody waits yet for what the program submits from now on
}

fence transfers::zero(const step& step) {
    const copy& at = *lock_->copies.find(step.to);
    if (lock_->copies.options().uninitialized || (at.untouched && at.memory->starts_zero())) return {};
    static constexpr std::array nothing{std::byte{0}};
    const bool own_pages = at.on_host() && at.memory->whole_pages() && at.memory->starts_zero();
    if (!own_pages || !step.part.is_range() || step.part.size() < least_bytes_to_ask)
        return fill_part(at, step.part, nothing);
    const byte_range part = step.part.hull();
    for (const byte_range& each : tracking::touched({at.memory->host_address() + part.begin, part.size()})) {
        fill_part(at, region(byte_range{part.begin + each.begin, part.begin + each.end}), nothing);
    }
    return {};
}

void transfers::fill(std::span<const std::byte> pattern, const promise& in) {
    claim(request_.part);
    const copy& at = *lock_->copies.find(request_.where.id());
    if (at.queues) lock_->holds.work().reserve(lock_->holds.size() + 1);
    fence done;
    about_to_overwrite(*lock_, in, request_);
    try {
        done = fill_part(at, request_.part, pattern);
    } catch (const error& failure) {
        rethrow_naming_access(lock_.of(), request_, failure);
    }
    if (done.native()) {
        lock_->holds.work().add({.part = request_.part, .where = request_.where.id(), .writes = true},
                                {.done = done, .on = {}, .transfer = true});
    }
}

fence transfers::fill_part(const copy& at, const region& part, std::span<const std::byte> pattern) {
    backends::memory& memory = *at.memory;
    const queue on = queue_at(request_, at.where);
    const bool on_host = at.on_host();
    const auto own = on_host ? own_write_of(part, coherence::host) : std::nullopt;
    const lock::released unlocked(lock_);
    if (on_host) {
        part.for_each_run(
            [&](byte_range run) { backends::repeat(pattern, {memory.host_address() + run.begin, run.size()}); });
        return {};
    }
    if (const box* const of = part.as_box()) {
        fill_box(memory, *of, pattern);
        return {};
    }
    return memory.fill(part.begin(), part.size(), pattern, on);
}

}  // namespace unibuf::detail
