// access/joint_passage.cpp: takes several requests through each stage together, and grants all of them or none.
#include "access/joint_passage.hpp"
#include "access/kernel_writes.hpp"

#include <atomic>
#include <cassert>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "access/hold_waits.hpp"
#include "access/lease_of.hpp"
#include "access/queued_work.hpp"
#include "access/recording.hpp"
#include "access/standing.hpp"
#include "access/usual_answer.hpp"
#include "backends/spaces.hpp"
#include "process/forks.hpp"
#include "trace/guards.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

/// The turn to make copies while claims are held. If several threads did, each could have what the others need.
class turn_to_make_copies {
public:
    turn_to_make_copies() = default;
    ~turn_to_make_copies() { give_back(); }
    turn_to_make_copies(const turn_to_make_copies&) = delete;
    turn_to_make_copies& operator=(const turn_to_make_copies&) = delete;

    bool is_mine() const noexcept { return mine_ != 0; }

    /// Waits for it, with no claim held. Throws error(timeout). Code that a thread calls while it has the turn has it,
    /// too: what waits for memory with claims is one thread still.
    void take(const wait_limit& limit) {
        const int me = process::fork_count.load(std::memory_order_relaxed) + 1;
        if (mine_ == me) return;
        outer_ = of_this_thread == me;
        mine_ = outer_ ? me : 0;
        if (outer_) return;
        for (int found = 0; !taken.compare_exchange_strong(found, me, std::memory_order_acquire);) {
            // Whoever had the turn when this process was forked off is no thread of it.
            found = found != 0 && found != me ? found : 0;
            if (found != 0) continue;
            if (limit.has_passed()) {
                throw error(error_code::timeout,
                            "leases were asked for together, but other threads made copies for theirs for all of the "
                            "time that was given");
            }
            if (backends::help_others) backends::help_others();  // they may wait for this thread
            std::this_thread::sleep_for(std::chrono::microseconds(50));
            limit.ask();
        }
        mine_ = of_this_thread = me;
    }

    void give_back() noexcept {
        int mine = std::exchange(mine_, 0);
        if (mine == 0 || outer_) return;
        of_this_thread = 0;
        taken.compare_exchange_strong(mine, 0, std::memory_order_release);  // a child has never had that of its parent
    }

private:
    static inline constinit std::atomic<int> taken = 0;  // process::fork_count and 1 of who has it, or 0
    static thread_local constinit int of_this_thread;

    int mine_ = 0;        // what `taken` says while this has it
    bool outer_ = false;  // it was taken by a call that this one is within
};

thread_local constinit int turn_to_make_copies::of_this_thread = 0;

}  // namespace

joint_passage::member::member(core& of, access_request request, byte_lease& taken)
    : of_(of), request_(std::move(request)), taken_(taken) {
    request_.joint = true;
    request_.asks_holders = false;
    request_.waits_for_holds = false;
}

joint_passage::member::~member() {
    drop();
    if (!promise_ && !quiet_ && !in_line_) return;
    lock locked(of_);
    in_line_.reset();
    promise_.reset();
    end_start(*locked);
    end_quiet(*locked);
}

/// Returns whether holders would have to be asked, who may wait for what the other requests have claimed.
bool joint_passage::member::has_to_ask(const guarded& state) const {
    if (!state.holds.any_standing()) return false;
    return !quiet_ || has_holders_to_ask(state, request_);
}

/// Returns whether the access reads bytes that are current in a memory of the space's own.
bool joint_passage::member::is_only_read_there(const guarded& state) const {
    if (request_.what != access::read || state.copies.find(request_.where.id())->placed != placement::mirrored)
        return false;
    return coherence::complete_at(state.directory, request_.part, coherence::set_of(request_.where.id())) != 0;
}

/// Keeps the bytes from the standing holds that are there now, until this ends.
void joint_passage::member::keep_quiet(guarded& state) {
    end_quiet(state);
    if (state.holds.any_standing()) {
        quiet_ = &state.holds.add_view(state.holds.quiet_at(request_.where.id()), request_.part);
    }
}

/// Gives the bytes back to the standing holds that keep_quiet() has kept them from.
void joint_passage::member::end_quiet(guarded& state) noexcept {
    if (!quiet_) return;
    give_back_bytes_of(state, request_.where, *quiet_);
    state.holds.quiet_at(request_.where.id()).end_view(*std::exchange(quiet_, nullptr));
}

joint_passage::member::answer joint_passage::member::claim(bool may_make_copy) {
    entered_ = std::make_unique<entered>(of_);
    entered& in = *entered_;
    try {
        lock& locked = in.locked;
        if (!has_let_writers_first_ && writers_go_first(*locked, request_)) {
            end_claim();
            return answer::busy;
        }
        if (is_free_and_current(*locked, request_)) {
            begin_to_use(*locked, request_);
            in.at_a_glance.take(request_.part, request_);
        } else {
            const bool lacks_copy = !may_make_copy && !locked->copies.find(request_.where.id());
            if (lacks_copy || has_to_ask(*locked)) {
                end_claim();
                return lacks_copy ? answer::lacks_copy : answer::busy;
            }
            request_.makes_copy = may_make_copy;
            passage& way = in.way.emplace(locked, request_);
            way.keep_others_off();
            if (is_only_read_there(*locked)) way.own_claim().become_lease(request_);  // others may read, too
        }
        in_line_.reset();
        in.unlocked.emplace(locked);
        return answer::claimed;
    } catch (const error& refused) {
        end_claim();
        if (refused.code() == error_code::not_allocated)
            return answer::lacks_copy;  // it went while holds were waited for
        if (refused.code() != error_code::timeout) throw;
        return answer::busy;
    } catch (...) {
        end_claim();
        throw;
    }
}

void joint_passage::member::end_claim() noexcept {
    if (!entered_ || entered_->has_ended) return;
    entered& in = *entered_;
    in.unlocked.reset();
    in.way.reset();
    in.at_a_glance.end();
    ++in.locked->waiting;  // keeps the gate shut
    in.has_ended = true;
    in.unlocked.emplace(in.locked);
}

void joint_passage::member::drop() noexcept {
    if (!entered_) return;
    entered_->unlocked.reset();
    if (entered_->has_ended) --entered_->locked->waiting;
    entered_.reset();
}

void joint_passage::member::wait_alone() {
    access_request alone = request_;
    alone.joint = false;
    alone.waits_for_holds = true;
    alone.makes_copy = true;
    lock locked(of_);
    const passage way(locked, alone);
    has_let_writers_first_ = true;
    keep_quiet(*locked);
}

void joint_passage::member::stand_in_line() {
    if (request_.what == access::read || in_line_) return;
    const lock locked(of_);
    seldom_used& seldom = locked->with_seldom_used();
    in_line_.emplace(seldom.writers_in_line, request_.part, seldom.changed);
}

void joint_passage::member::ask_guards() {
    assert(entered_ && entered_->unlocked);
    const relocked now(*entered_);
    std::optional<passage>& way = entered_->way;
    if (way) way->ask_guards();
}

void joint_passage::member::bring() {
    assert(entered_ && entered_->unlocked);
    const relocked now(*entered_);
    lock& locked = entered_->locked;
    std::optional<passage>& way = entered_->way;
    if (way) way->bring();
    if (request_.what != access::read) promise_.emplace(locked->directory, request_.part);
    reserve_queued_work(*locked, request_.where);
}

void joint_passage::member::grant() noexcept {
    assert(entered_ && (promise_ || request_.what == access::read));
    lock& locked = entered_->locked;
    entered_->unlocked.reset();
    std::uint64_t taken_at = 0;
    if (const std::optional<passage>& way = entered_->way) {
        taken_at = way->recorded_at();
    } else {
        locked->use_now();
        locked->used_at(request_.where);
        taken_at = record_access(locked, request_);
    }
    const std::uint64_t ticket = own_claim().grant(request_, taken_at);
    if (locked->any_exposed) let_kernel_write(*locked, ticket, request_);
    granted_ = lease_of(of_, *locked->copies.find(request_.where.id()), request_, ticket);
    if (promise_) {
        starting_ = ticket;
        locked->holds.begin_to_start(ticket);
        about_to_overwrite(*locked, *promise_, request_);
    }
    if (locked->holds.any_standing()) {
        entered_->unlocked.emplace(locked);  // until all have been granted
    } else {
        drop();
    }
}

void joint_passage::member::wrote() noexcept {
    assert(!entered_);
    if (!promise_) return;
    lock locked(of_);
    if (locked->any_exposed && request_.where != host && locked->shares_host(request_.where)) {
        locked->writes()->stop_watching(*promise_, request_.part);
    }
    now_written(*locked, *promise_, request_.part, request_.where);
    promise_.reset();
    end_start(*locked);
}

/// Lets others in where the program has ended the lease before its writes were newest.
void joint_passage::member::end_start(guarded& state) noexcept {
    if (starting_ == 0) return;
    state.holds.has_started(std::exchange(starting_, 0));
    state.tell_waiting();
}

void joint_passage::enter() {
    turn_to_make_copies turn;
    member* blocked = nullptr;
    const auto claim_all = [&] {
        for (member& each : members_) {
            const member::answer answer = each.claim(turn.is_mine());
            if (answer == member::answer::claimed) continue;
            blocked = &each;
            return answer;
        }
        return member::answer::claimed;
    };
    for (;;) {
        member::answer answer{};
        try {
            answer = claim_all();
        } catch (...) {
            drop_all();  // before the turn goes to others, who may have claims then
            throw;
        }
        if (answer == member::answer::claimed) return;
        drop_all();
        if (answer == member::answer::lacks_copy) {
            turn.take(blocked->limit());
        } else {
            turn.give_back();
            for (member& each : members_) each.stand_in_line();
            blocked->wait_alone();
        }
    }
}

void joint_passage::bring() {
    if (trace::has_guard()) {
        for (member& each : members_) each.ask_guards();
    }
    for (member& each : members_) each.bring();
}

void joint_passage::grant() noexcept {
    for (member& each : members_) each.grant();
    for (member& each : members_) each.drop();
    for (member& each : members_) each.hand_over();
}

void joint_passage::wrote() noexcept {
    for (member& each : members_) each.wrote();
}

}  // namespace unibuf::detail
