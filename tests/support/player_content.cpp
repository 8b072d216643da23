// support/player_content.cpp: operations on content and on memory as a whole.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "support/player.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::test {

void player::discard(const operation& op) {
    part& of = part_of(op);
    const bool of_content = op.does == verb::discard_content;
    const place where = explicit_places[op.where % 3];
    if (of_content) {
        std::vector<error_code> must_fail = conflicts(of.range, access::write);
        const auto stands = [&](const standing_rules& each) { return each.range().overlaps(of.range); };
        const auto held = [&](const held_copy& each) {
            return each.where == at_host && each.bytes.overlaps(of.range) && !each.goes_when_asked;
        };
        if (std::ranges::any_of(oracle_.standing(), stands) || std::ranges::any_of(copies_, held)) {
            must_fail = {error_code::access_conflict};
        }
        if (attempt(op, must_fail, [&] { of.handle->discard_content(); })) oracle_.drop_content(of.range);
        return;
    }
    std::vector<error_code> must_fail = conflicts(of.range, access::write);
    if (where != at_host && pinned(where)) must_fail = {error_code::access_conflict};
    of.handle->release_device();
    end_device_pointers();
    settle_standing();  // devices write again where the pointers were, before a holder is asked for the copy
    before_ = oracle_;
    // The buffer may refuse to drop content that the oracle cannot vouch for, and copies that pointers for reading
    // show.
    const bool shown = where == at_host && (host_shown_ || pinned(where));
    // A copy of the host that lies in memory that is to go has to move.
    const std::string name = where == at_host ? "" : space_of(where).name();
    const bool lends = name.starts_with("opengl") || name.find("visible") != std::string::npos;
    const bool may_move = lends && (host_shown_ || pinned(at_host) || !pointers_.empty());
    const bool may_refuse = must_fail.empty() && (!clean_ || shown || may_move || !oracle_.may_drop(of.range, where));
    for (standing_rules& each : oracle_.standing()) each.may_take(of.range);
    bool refused = false;
    if (attempt(op, must_fail,
                [&] {
                    try {
                        of.handle->discard(space_of(where));
                    } catch (const error& thrown) {
                        const bool after_failure = must_fail.empty() && !clean_;  // an earlier attempt has failed
                        if (!may_refuse && !after_failure) throw;
                        if (thrown.code() != error_code::access_conflict) throw;
                        refused = true;
                    }
                }) &&
        !refused) {
        oracle_.drop(of.range, where);
        if (where == at_host) pointers_.clear();
        if (lends) forget_ended_pointers();  // the host's copy may have moved
    }
}

/// Fills a part; with operation::partly at the space that the operation names.
void player::fill(const operation& op) {
    part& of = part_of(op);
    std::size_t period = 1 + op.count % 5u;
    while (of.range.size() % period != 0) --period;
    const bool fits = (op.flags & operation::beyond) == 0;
    const auto pattern = content_of(op, fits ? period : of.range.size() + 1);
    std::vector<error_code> must_fail = conflicts(of.range, access::write);
    if (!fits && !of.range.empty()) must_fail = {error_code::invalid_argument};
    if (!fits && of.range.empty()) return;
    const bool named = (op.flags & operation::partly) != 0;
    const place where = named ? explicit_places[op.where % 3] : at_host;
    asked_[where] = asked_[at_host] = true;
    const auto act = [&] { return named ? of.handle->fill(pattern, space_of(where)) : of.handle->fill(pattern); };
    if (attempt(op, must_fail, act)) {
        expect_moves(of.range, where, false, true);
        oracle_.fill(of.range, pattern);
    } else if (must_fail.empty()) {
        oracle_.doubt(of.range);
    }
}

void player::copy(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const bool beyond = (op.flags & operation::beyond) != 0;
    const std::size_t offset = range.begin - of.range.begin;
    const std::size_t count = beyond ? of.range.size() - offset + 1 : range.size();
    const bool from = op.does == verb::copy_from;
    auto content = content_of(op, count);
    std::vector<error_code> must_fail = conflicts(range, from ? access::write : access::read);
    if (beyond) must_fail = {error_code::out_of_range};
    copy_content(op, *of.handle, offset, range, from, content, must_fail);
}

/// Copies content to bytes of a handle, or out of them. With operation::partly that goes past the host's copy, between
/// the program and a space that the operation names, or the buffer for one that has the bytes.
void player::copy_content(const operation& op, face& of, std::size_t offset, const region& bytes, bool from,
                          std::span<std::byte> content, const std::vector<error_code>& must_fail) {
    const bool passes = (op.flags & operation::partly) != 0;
    place where = passes ? explicit_places[op.where % 3] : at_host;
    if (passes && op.value % 2 != 0) {
        const space found = of.current_at();
        where = found == devices_[0].where ? at_first : found == devices_[1].where ? at_second : at_host;
    }
    const bool was_there = where != at_host && allocated(where);
    asked_[where] = asked_[at_host] = true;
    if (!attempt(op, must_fail, [&] {
            const space at = space_of(where);
            if (!passes) return from ? of.copy_from(content, offset) : of.copy_to(content, offset);
            from ? of.copy_from(content, at, offset) : of.copy_to(content, at, offset);
        })) {
        if (from && passes && must_fail.empty()) bytes.for_each_run([&](byte_range run) { oracle_.fill_in_part(run); });
        return;
    }
    const bool at_device = where != at_host && !shares(where);
    const bool also_leased = where != at_host && !at_device && !was_there;  // that the two share memory was found then
    if (also_leased) {
        for (standing_rules& each : oracle_.standing()) {
            bytes.for_each_run([&](byte_range run) { each.take(run, where); });
        }
    } else {
        expect_moves(bytes, at_device ? where : at_host, !from, from, at_device ? bytes.size() : 0);
    }
    const place used = at_device ? where : at_host;
    std::span<std::byte> left = content;
    bytes.for_each_run([&](byte_range run) {
        const std::span<std::byte> here = left.first(run.size());
        left = left.subspan(run.size());
        if (from) {
            oracle_.write(run, used);
            return oracle_.put(run, here);
        }
        oracle_.read(run, used);
        const std::string wrong = oracle_.compare(run, here);
        if (!wrong.empty()) throw difference("copied out " + wrong);
    });
}

void player::make_view(const operation& op) {
    part& of = part_of(op);
    const byte_range range = range_of(op, of.range);
    const bool beyond = (op.flags & operation::beyond) != 0;
    const std::size_t offset = range.begin - of.range.begin;
    const std::size_t slot = 1 + op.where % 3u;
    std::optional<part> made = std::nullopt;
    const std::vector<error_code> must_fail =
        beyond ? std::vector{error_code::out_of_range} : std::vector<error_code>{};
    if (attempt(op, must_fail, [&] {
            made = part{of.handle->view(offset, beyond ? of.range.size() - offset + 1 : range.size()), range};
        })) {
        parts_[slot] = std::move(made);
    }
}

void player::make_room(const operation& op) {
    const place where = std::array{at_first, at_second, at_host}[op.where % 3];
    const bool was_there = allocated(where);
    for (const std::uint64_t limit : {std::uint64_t{0}, no_memory_limit}) {
        whole().handle->limit_memory(space_of(where), limit);
    }
    settle();
    for (standing_rules& each : oracle_.standing()) each.may_take(whole().range);
    if (!was_there || allocated(where)) return;
    if (pinned(where)) throw difference("a copy that was held has been evicted");
    oracle_.drop(whole().range, where);
    if (where == at_host) pointers_.clear();
}

void player::release_pointers(const operation& op) {
    part& of = part_of(op);
    if (attempt(op, {}, [&] { of.handle->release_host(); })) {
        oracle_.end_pointers(of.range);
        for (standing_rules& each : oracle_.standing()) each.end_pointers(of.range, at_host);
    }
    if ((op.flags & operation::partly) == 0) return;
    of.handle->release_device();
    end_device_pointers();
}

void player::forget_ended_pointers() {
    std::erase_if(pointers_, [&](const pointer& each) {
        for (std::size_t at = each.range.begin; at < each.range.end; ++at) {
            if (!oracle_.is_pointed(at)) return true;
        }
        return false;
    });
}

void player::end_device_pointers() {
    for (standing_rules& each : oracle_.standing()) {
        for (const place where : {at_host_as_device, at_first, at_second}) each.end_pointers(whole().range, where);
    }
}

void player::recycle(operation op) {
    const bool has_views =
        std::any_of(parts_.begin() + 1, parts_.end(), [](const auto& each) { return each.has_value(); });
    // Nobody asks for a view of no bytes.
    const auto goes = [](const held_copy& each) { return each.goes_when_asked && !each.bytes.empty(); };
    const bool held = !std::ranges::all_of(copies_, goes);
    if (has_views || !leases_.empty() || held || !standing_.empty()) return;
    op.flags &= static_cast<std::uint8_t>(~operation::give_up);  // there is no buffer in between
    const std::size_t bytes = (op.flags & operation::partly) != 0 ? op.count % 97u : whole().range.size();
    bool recycled = false;
    if (!attempt(op, {}, [&] { recycled = whole().handle->recycle(bytes); }) || !recycled) return;
    for (const place where : {at_first, at_second}) {
        if (fake_device* const fake = device_at(where).fake) ++fake->generation;
    }
    whole().range = {0, bytes};
    rectangles_.clear();
    if (!copies_.empty()) throw difference("a buffer went to its pool, and its holders were not asked");
    oracle_ = oracle(whole().range.size(), uninitialized_);
    pointers_.clear();
    host_shown_ = false;
}

}  // namespace unibuf::test
