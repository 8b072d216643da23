// memory/copies.cpp: keeps, shares and frees the copies of one buffer.
#include "memory/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "backends/host/pinned_memory.hpp"
#include "backends/spaces.hpp"
#include "memory/limits.hpp"
#include "memory/placement_policy.hpp"
#include "memory/usage.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

/// Returns whether the copy is more than another use of memory that is counted already.
bool holds_memory(const copy& each) noexcept { return each.placed == placement::mirrored; }

space_id allocator_of(const copy& each) noexcept { return each.where == coherence::host ? each.lender : each.where; }

}  // namespace

bool copy::on_host() const noexcept { return backends::is_host(space::from_id(where)); }

std::byte* copy::address() const noexcept {
    return on_host() || placed == placement::mirrored ? memory->host_address() : nullptr;
}

std::uintptr_t copy::handle() const noexcept {
    return on_host() ? reinterpret_cast<std::uintptr_t>(memory->host_address()) : memory->handle();
}

copy_list host_copy_of(std::unique_ptr<backends::memory> memory) {
    copy_list made{.remarks = {}, .copies = std::forward_list<copy>(1)};
    made.copies.front().untouched = false;
    made.copies.front().memory = held_memory(std::move(memory));
    return made;
}

void copy_list::add(copy_list more) noexcept {
    remarks.splice_after(remarks.before_begin(), more.remarks);
    copies.splice_after(copies.before_begin(), more.copies);
}

void copy_list::say(space_id where, std::string text) {
    say_nothing(where);
    remarks.push_front({.where = where, .text = std::move(text)});
}

void copy_list::say_nothing(space_id where) noexcept {
    remarks.remove_if([where](const remark& each) { return each.where == where && !each.ended_turns; });
}

copy* copies::find(space_id where) noexcept {
    const auto found = std::ranges::find(list_.copies, where, &copy::where);
    return found == list_.copies.end() ? nullptr : &*found;
}

const copy* copies::find(space_id where) const noexcept { return const_cast<copies*>(this)->find(where); }

bool copies::may_pin_host(space_id where) const {
    const backends::traits& device = backends::device_of(space::from_id(where)).about();
    return device.pins && choose_placement(options_.hint, device).wanted == placement::shared;
}

void copies::add(copy_list made) noexcept {
    for (copy& each : made.copies) {
        const backends::traits& device = backends::device_of(space::from_id(each.where)).about();
        any_poisons_ |= device.poisons_stale;
        each.queues = device.asynchronous;
    }
    list_.add(std::move(made));
}

void copies::forget(const copy& each) const noexcept {
    if (holds_memory(each)) remove_memory(space::from_id(allocator_of(each)), bytes_);
}

std::uint64_t copies::held_at(space_id where) const noexcept {
    const auto is_there = [where](const copy& each) { return holds_memory(each) && allocator_of(each) == where; };
    return static_cast<std::uint64_t>(std::ranges::count_if(list_.copies, is_there)) * bytes_;
}

bool copies::used_by_others(space_id where) const noexcept {
    return std::ranges::any_of(
        list_.copies, [&](const copy& each) { return each.placed == placement::shared && each.lender == where; });
}

void copies::hand_out(space_id where) noexcept {
    if (where == coherence::host) return;
    const coherence::space_set sharers = memories().group(where);
    for (copy& each : list_.copies) {
        if (coherence::has(sharers, each.where)) each.memory->hand_out();
        if (each.where == where) each.is_out = true;
    }
}

void copies::free(space_id where) noexcept {
    const copy* const its_copy = find(where);
    if (!its_copy || used_by_others(where)) return;
    forget(*its_copy);
    erase(where);
}

void copies::erase(space_id where) noexcept {
    assert(find(where));
    find(where)->memory = {};  // goes before the memory that it may be made of
    list_.copies.remove_if([&](const copy& each) { return each.where == where; });
    list_.say_nothing(where);
}

bool copies::lends_to_host(space_id where) const noexcept {
    const copy* const at_host = find(coherence::host);
    return where != coherence::host && at_host && at_host->lender == where;
}

void copies::replace_host(copy_list made) noexcept {
    assert(!used_by_others(find(coherence::host)->lender));
    copy& at_host = *find(coherence::host);
    forget(at_host);
    at_host = std::move(made.copies.front());
    list_.say_nothing(coherence::host);
    list_.remarks.splice_after(list_.remarks.before_begin(), made.remarks);
    for (copy& each : list_.copies) {
        if (&each != &at_host && each.on_host()) each.memory = held_memory(*at_host.memory);
    }
}

copy* copies::borrower_among(space_id where) noexcept {
    const auto found = std::ranges::find_if(list_.copies, [&](const copy& each) {
        return each.borrows() && (each.where == where || each.lender == where);
    });
    return found == list_.copies.end() ? nullptr : &*found;
}

void copies::separate(space_id where, std::string why) {
    assert(borrower_among(where));
    copy& borrower = *borrower_among(where);
    std::forward_list<remark> said(2);
    remark& of_borrower = said.front();
    of_borrower = {.where = borrower.where, .text = why};
    *std::next(said.begin()) = {.where = where, .ended_turns = true, .text = std::move(why)};
    if (where != borrower.where) {
        copy& lender = *find(where);
        forget(lender);
        of_borrower.lent = std::move(lender.memory);
        borrower.placed = placement::mirrored;
        borrower.has_turn = false;
        add_memory(space::from_id(borrower.where), bytes_);
    } else {
        said.pop_front();
    }
    erase(where);
    list_.remarks.splice_after(list_.remarks.before_begin(), said);
}

const remark* copies::ended_turns() const noexcept {
    const auto found = std::ranges::find_if(list_.remarks, &remark::ended_turns);
    return found == list_.remarks.end() ? nullptr : &*found;
}

void copies::free_each() noexcept {
    for (const copy& each : list_.copies) forget(each);
    list_.copies.remove_if([](const copy& each) { return each.placed == placement::shared; });
    list_.copies.clear();
    list_.remarks.remove_if([](const remark& each) { return !each.ended_turns; });
}

coherence::sharing copies::memories() const noexcept {
    coherence::sharing result;
    for (const copy& each : list_.copies) {
        if (each.placed == placement::shared && !each.borrows()) result.share(each.where, coherence::host);
    }
    return result;
}

const char* copies::broken_rule() const noexcept {
    for (const copy& each : list_.copies) {
        if (!each.memory) return "a copy has no memory";
        if (find(each.where) != &each) return "a space has two copies";
        if (each.placed == placement::mirrored || each.where == coherence::host) continue;
        if (!find(each.lender)) return "a copy uses memory that is not there";
    }
    return nullptr;
}

placement_info copies::placement_of(const copy& each) const {
    if (each.where == host_as_device.id()) {
        return {.placement = each.placed, .reason = "the default device is the host", .mapping = {}};
    }
    std::string reason(choose_placement(options_.hint, backends::device_of(space::from_id(each.where)).about()).reason);
    if (each.where == coherence::host) {
        reason =
            each.lender == coherence::host ? "the host's own memory" : "lent by " + space::from_id(each.lender).name();
    }
    if (each.borrows()) reason = "takes turns with the memory of " + space::from_id(each.lender).name();
    const bool pinned = dynamic_cast<const backends::pinned_memory*>(each.memory.get()) != nullptr;
    if (pinned) reason += ", pinned";
    for (const remark& said : list_.remarks) {
        if (said.where == each.where && !said.ended_turns) reason += ", but " + said.text;
    }
    return {.placement = each.placed,
            .pinned = pinned,
            .reason = std::move(reason),
            .mapping = std::string(each.memory->how_mapped())};
}

coherence::space_set copies::allocated() const noexcept {
    coherence::space_set result = 0;
    for (const copy& each : list_.copies) result |= coherence::set_of(each.where);
    return result;
}

space copies::meant() const { return options_.device ? detail::as_device(*options_.device) : current_device(); }

backends::allocation_request copies::wanted() const noexcept {
    return {.bytes = std::max<std::size_t>(bytes_, 1), .access = options_.access, .hint = options_.hint};
}

}  // namespace unibuf::detail
