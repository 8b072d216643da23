// support/player_holds.cpp: copies that are held in place, and devices that write unseen.
#include <algorithm>
#include <utility>

#include "support/player.hpp"
#include "unibuf/error.hpp"

namespace unibuf::test {
namespace {

native_memory part_of_native(const native_memory& at, std::size_t offset, std::size_t count) {
    return {.where = at.where, .handle = at.handle, .offset = at.offset + offset, .bytes = count};
}

}  // namespace

void player::hold_copy(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    hold_copy(op, *of.handle, {.offset = range.begin - of.range.begin, .count = range.size()}, range);
}

/// Holds a part of a handle, which is these bytes.
void player::hold_copy(const operation& op, face& of, const access_options& options, const region& bytes) {
    const place where = explicit_places[op.where % 3];
    const bool takes_turns = borrows(at_first) || borrows(at_second);  // a view ends when the other's turn begins
    if (copies_.size() >= 4 || (where != at_host && takes_turns)) return;
    held_copy made{.held = nullptr, .where = where, .bytes = bytes, .name = ++names_};
    asked_[where] = asked_[at_host] = true;
    if (!attempt(op, conflicts(bytes, where == at_host ? access::read_write : access::read),
                 [&] { made.held = of.hold(space_of(where), options.offset, options.count); })) {
        return;
    }
    expect_moves(bytes, where, true);
    for (const byte_range& run : runs_of(bytes)) oracle_.read(run, where);
    const native_memory at = made.held->native();
    expect_content(bytes, where, at, false);
    if ((op.flags & operation::hold) != 0) {
        made.goes_when_asked = op.value % 4 != 0;
        made.held->held_by({&asked_holder::let_go, std::make_shared<asked_holder>(*this, made.name)});
    }
    for (const byte_range& run : runs_of(bytes)) {
        for (standing_rules& each : oracle_.standing()) each.show(made.name, run, where);
        if (where != at_host) continue;
        oracle_.expose_view(run);
        pointers_.push_back({at.as<std::byte>() + (run.begin - bytes.begin()), run});
    }
    copies_.push_back(std::move(made));
}

/// Ends the copy, or refuses. Nothing of the access for which it is asked has been done yet.
void player::asked_holder::let_go(void* context) noexcept {
    const auto& [player, name] = *static_cast<asked_holder*>(context);
    try {
        const auto found = std::ranges::find(player.copies_, name, &held_copy::name);
        if (found == player.copies_.end()) throw difference("a holder was asked who had let go");
        if (!found->goes_when_asked) return;
        for (standing_rules& each : player.before_.standing()) {
            each.end_shown(name);
            for (const byte_range& run : runs_of(found->bytes)) each.doubt(run);  // it may get them back meanwhile
        }
        if (found->where == at_host) {
            for (const byte_range& run : runs_of(found->bytes)) player.before_.end_view(run);
        }
        player.let_go(static_cast<std::size_t>(found - player.copies_.begin()));
    } catch (const std::exception& wrong) {
        player.wrong_when_asked_ = wrong.what();
    }
}

/// Ends a held copy, after a check that it has shown until now what was newest at its place.
void player::let_go(std::size_t index) {
    const held_copy ending = std::move(copies_[index]);
    copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(index));
    const native_memory native = ending.held->native();
    for (standing_rules& each : oracle_.standing()) each.end_shown(ending.name);
    for (const byte_range& run : runs_of(ending.bytes)) {
        for (std::size_t at = run.begin; at < run.end; ++at) {
            if (!oracle_.is_current(at, ending.where)) continue;
            expect_content(byte_range{at, at + 1}, ending.where, part_of_native(native, at - ending.bytes.begin(), 1),
                           true);
        }
        if (ending.where != at_host) continue;
        oracle_.end_view(run);
        const std::byte* const data = native.as<std::byte>() + (run.begin - ending.bytes.begin());
        const auto same = [&](const pointer& each) { return each.data == data && each.range == run; };
        const auto found = std::ranges::find_if(pointers_, same);
        if (found != pointers_.end()) pointers_.erase(found);
    }
}

standing_options player::options_of_hold(const operation& op, place where,
                                         const std::shared_ptr<device_threads>& threads) const {
    standing_options result;
    if (op.value % 4 == 0) result.opens = reopening::told;
    static int any_queue = 0;
    if ((op.flags & operation::on_queue) != 0 && queues(where)) result.on = queue{&any_queue};
    if (op.value % 3 != 0) return result;
    threads->can_stop = true;
    threads->refusals = op.value % 5 == 0 ? 1 : 0;
    result.pause = [threads] {
        if (threads->stopped) threads->wrong = "were asked twice to stop";
        if (threads->refusals != 0) {
            --threads->refusals;
            ++threads->refused;
            throw error(error_code::timeout, "the device goes on");
        }
        threads->stopped = true;
    };
    result.resume = [threads] {
        if (!std::exchange(threads->stopped, false)) threads->wrong = "were told to go on, and had not stopped";
    };
    return result;
}

void player::bind(const operation& op) {
    part& of = part_of(op);
    const place where = explicit_places[op.where % 3];
    const byte_range range = range_of(op, of.range);
    const access what = (op.flags & operation::partly) != 0 ? access::read : access::read_write;
    if (standing_.size() >= 3) return;
    standing made{.hold = nullptr, .threads = std::make_shared<device_threads>()};
    standing_options options = options_of_hold(op, where, made.threads);
    options.offset = range.begin - of.range.begin;
    options.count = range.size();
    std::vector<error_code> must_fail = conflicts(range, what);
    const auto is_against = [&](const standing_rules& each) {
        const bool only_read = what == access::read && each.only_reads();
        return each.range().overlaps(range) && each.where() != where && !only_read;
    };
    if (std::ranges::any_of(oracle_.standing(), is_against)) must_fail = {error_code::access_conflict};
    if (where == at_host) must_fail = {error_code::invalid_argument};
    if ((op.flags & operation::beyond) != 0) {
        options.count = of.range.size() - options.offset + 1;
        must_fail = {error_code::out_of_range};
    }
    asked_[where] = asked_[at_host] = true;
    const bool bound = attempt(op, must_fail, [&] { made.hold = of.handle->bind(space_of(where), what, options); });
    if (borrows(at_second)) oracle_.part();
    if (!bound) return;
    const standing_rules rules(where, range, what, options.opens == reopening::told, whole().range.size());
    before_.standing().push_back(rules);
    expect_moves(range, where, true);
    oracle_.read(range, where);
    oracle_.standing().push_back(rules);
    standing_.push_back(std::move(made));
    settle_standing();
    expect_device_sees(standing_.size() - 1, range, false);
}

bool player::has(const standing_rules& rules, std::size_t at) const { return rules.may_have(at) && !leased_[at]; }

/// Returns the ranges that the device of a hold may use now. Bytes that may be lost are left out, as they are given to
/// no device, and unless `written_unseen`, those that may be written through pointers that were out before a hold that
/// only reads.
std::vector<byte_range> player::had_by(const standing_rules& rules, byte_range range, bool written_unseen) const {
    std::vector<byte_range> result;
    for (std::size_t at = range.begin; at < range.end; ++at) {
        const bool unseen = rules.only_reads() && oracle_.is_pointed(at);
        if (!has(rules, at) || oracle_.any_suspect({at, at + 1}) || (unseen && !written_unseen)) continue;
        if (result.empty() || result.back().end != at) result.push_back({at, at});
        result.back().end = at + 1;
    }
    return result;
}

void player::expect_device_sees(std::size_t index, byte_range range, bool written_unseen) {
    const standing_rules& rules = oracle_.standing()[index];
    const native_memory native = standing_[index].hold->native();
    for (const byte_range& each : had_by(rules, range, written_unseen)) {
        const std::size_t offset = each.begin - rules.range().begin;
        expect_content(each, rules.where(), part_of_native(native, offset, each.size()), true);
    }
}

void player::write_unseen(const operation& op) {
    if (standing_.empty()) return;
    const std::size_t index = op.handle % standing_.size();
    const standing_rules& rules = oracle_.standing()[index];
    const byte_range to = range_of(op, rules.range());
    if (rules.only_reads() || (op.flags & operation::partly) != 0) return expect_device_sees(index, to, false);
    if (standing_[index].threads->stopped) return;
    const native_memory native = standing_[index].hold->native();
    for (const byte_range& each : had_by(rules, to, false)) {
        const auto content = content_of(op, each.size());
        store(native, rules.range().begin, rules.where(), each, content);
        oracle_.put(each, content);
    }
}

void player::pause_hold(const operation& op, std::size_t index) {
    const byte_range range = oracle_.standing()[index].range();
    if (!attempt(op, conflicts(range, access::read), [&] { standing_[index].hold->pause(); })) return;
    for (standing_rules& each : oracle_.standing()) each.take(range, at_host);  // other holds take it for an access
    oracle_.standing()[index].pause();
}

void player::resume_hold(const operation& op, std::size_t index) {
    const unsigned fired = fired_;
    if (!attempt(op, {}, [&] { standing_[index].hold->resume(); }) || fired != fired_) return;
    oracle_.standing()[index].resume();
    settle_standing();
    expect_device_sees(index, oracle_.standing()[index].range(), true);
}

void player::end_hold(std::size_t index) {
    const auto at = static_cast<std::ptrdiff_t>(index);
    standing_.erase(standing_.begin() + at);
    oracle_.standing().erase(oracle_.standing().begin() + at);
}

/// Lets the oracle do what the buffer does by itself after each operation, and checks what of that shows.
void player::settle_standing() {
    settle();
    leased_.assign(whole().range.size(), false);
    for (const held_lease& each : leases_) {
        each.bytes.for_each_run([&](byte_range run) {
            for (std::size_t at = run.begin; at < run.end; ++at) leased_[at] = true;
        });
    }
    oracle_.give_back(leased_);
    for (std::size_t i = 0; i < standing_.size(); ++i) check_threads(oracle_.standing()[i], *standing_[i].threads);
}

/// Checks that threads are stopped just as long as something is kept from their device.
void player::check_threads(const standing_rules& rules, device_threads& of) const {
    of.refused = 0;
    if (!of.wrong.empty()) throw difference("the threads of a device " + of.wrong);
    if (oracle_.any_suspect(rules.range())) return;  // bytes that are lost are given to no device
    bool has_all = true;
    bool lacks = false;
    for (std::size_t at = rules.range().begin; at < rules.range().end; ++at) {
        has_all = has_all && has(rules, at);
        lacks = lacks || rules.is_kept(at);
        if (rules.is_unsure(at)) return;
    }
    if (has_all && of.stopped) throw difference("the threads of a device have not been told to go on");
    if (!lacks || rules.only_reads() || !of.can_stop || of.stopped) return;
    throw difference("the threads of a device were not stopped");
}

}  // namespace unibuf::test
