// buffer/holds.cpp: questions to the table of holds.
#include "buffer/holds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace unibuf::detail {

std::string describe(const hold& of) {
    static constexpr const char* names[] = {"", "read", "write", "read-write"};
    return fmt::format("a {} {} of {} at {}", names[static_cast<int>(of.what)], of.claim ? "transfer" : "lease",
                       describe(of.part), of.where.name());
}

std::uint64_t holds::add(hold added) {
    const hold& kept = exclusive_.add(std::move(added));
    ++count_;
    claims_ += kept.claim;
    return ticket_of(kept);
}

hold holds::remove(std::uint64_t ticket) noexcept {
    hold result = exclusive_.remove(of_ticket(ticket));
    --count_;
    claims_ -= result.claim;
    return result;
}

hold holds::end(std::uint64_t ticket) noexcept {
    hold& ended = of_ticket(ticket);
    ended.ended = ended.starting;
    return ended.ended ? ended : remove(ticket);
}

void holds::has_started(std::uint64_t ticket) noexcept {
    hold& started = of_ticket(ticket);
    started.starting = false;
    if (started.ended) remove(ticket);
}

void holds::grant(std::uint64_t ticket, const named_queue& on, std::uint64_t taken_at) noexcept {
    hold& granted = of_ticket(ticket);
    claims_ -= granted.claim;
    granted.claim = granted.joint = false;
    granted.on = on;
    granted.taken_at = taken_at;
}

hold holds::solo() const noexcept {
    const std::uint64_t word = gate_.solo.load(std::memory_order_acquire);
    hold result;
    result.part = byte_range{0, gate_.bytes};
    result.what = gate::access_of(word);
    result.thread = gate::thread_of(word);
    return result;
}

hold holds::excluding(const region& part, access what, std::uint32_t thread, bool joint) const noexcept {
    hold result = solo();
    if (result.thread != 0 && !result.excludes(part, what)) result.thread = 0;
    if (thread != 0 && result.thread == thread) return result;
    exclusive_.any(part.hull(), [&](const hold& each) {
        if (!each.excludes(part, what) || (joint && each.joint && each.thread == thread)) return false;
        result = each;
        return each.thread == thread;
    });
    return result;
}

bool holds::claimed_by_others(std::uint32_t thread) const noexcept {
    return claims_ != 0 && exclusive_.any([thread](const hold& each) { return each.claim && each.thread != thread; });
}

bool holds::any_at(space where) const noexcept {
    const bool unlocked = where == host && solo().thread != 0;
    return unlocked ||
           exclusive_.any([&](const hold& each) { return !each.claim && each.where == where && !each.part.empty(); });
}

bool holds::any_joint_at(space where) const noexcept {
    return exclusive_.any([&](const hold& each) {
        return each.joint && each.where == where && each.thread == this_thread() && !each.part.empty();
    });
}

bool holds::of_this_thread_at(space where) const noexcept {
    const bool unlocked = where == host && solo().thread == this_thread();
    return unlocked || exclusive_.any([&](const hold& each) {
        return !each.claim && each.where == where && each.thread == this_thread();
    });
}

bool holds::of_this_thread() const noexcept {
    return solo().thread == this_thread() ||
           exclusive_.any([](const hold& each) { return each.thread == this_thread(); });
}

bool holds::any_other(const region& part, std::uint64_t ticket) const noexcept {
    return solo().thread != 0 || exclusive_.any(part.hull(), [&](const hold& each) {
        return ticket_of(each) != ticket && each.part.overlaps(part);
    });
}

bool holds::leased_elsewhere(const region& part, space where) const noexcept {
    const bool unlocked = where != host && solo().thread != 0;
    return unlocked || exclusive_.any(part.hull(), [&](const hold& each) {
        return !each.claim && each.where != where && each.part.overlaps(part);
    });
}

holds::undeclared& holds::with_undeclared() {
    if (!undeclared_) undeclared_ = std::make_unique<undeclared>();
    return *undeclared_;
}

held_ranges& holds::writers_of_host() { return with_undeclared().writers_of_host; }

bool holds::keeps_in_place(coherence::space_id where) const noexcept {
    const held_ranges* const held = find_readers_at(where);
    return (held && held->any()) || (where == coherence::host && host_is_held_for_writing());
}

void holds::end_handles(coherence::space_id where, byte_range range) {
    if (find_readers_at(where)) readers_at(where).end_pointers(range);
}

void holds::end_all_pointers() noexcept {
    if (undeclared_) {
        undeclared_->writers_of_host.end_all_pointers();
        undeclared_->readers.end_all_pointers();
    }
    for (standing& each : standing_holds()) {
        if (!each.pointed.any()) continue;
        each.pointed.end_all_pointers();
        each.maybe_written = each.maybe_written.joined_with(each.part.hull());
    }
}

/// Calls visit(const held_ranges&) for what is held at other spaces than the standing hold's.
template <class Visit>
void holds::for_each_elsewhere(const standing& of, const Visit& visit) const {
    if (of.where != host) visit(undeclared_->writers_of_host);
    for (const holds_by_space* const each : {&undeclared_->readers, &undeclared_->quiet}) {
        each->for_each([&](coherence::space_id where, const held_ranges& held) {
            if (where != of.where.id()) visit(held);
        });
    }
}

byte_ranges holds::kept_from(const standing& of, byte_range range) const {
    byte_ranges result = of.pointed.of(range);
    for_each_elsewhere(of, [&](const held_ranges& held) {
        held.any_view(range, [&](const held_view& each) {
            if (keeps_from(each, of)) result.add(runs_of(each.part, range));
            return false;
        });
    });
    return result;
}

bool holds::keeps_any_from(const standing& of) const noexcept {
    bool result = of.pointed.any();
    for_each_elsewhere(of, [&](const held_ranges& held) {
        result = result || held.any_view(of.part, [&](const held_view& each) { return keeps_from(each, of); });
    });
    return result;
}

byte_ranges holds::exclusively_held(const region& part) const {
    if (solo().thread != 0) return runs_of(part);
    byte_ranges result;
    exclusive_.any(part.hull(), [&](const hold& each) {
        result.add(runs_of(part, each.part));
        return false;
    });
    return result;
}

std::uint64_t holds::add_holder(named_holder added) {
    undeclared& all = with_undeclared();
    all.holders.emplace(all.last + 1, std::move(added));
    return ++all.last;
}

holder holds::remove_holder(std::uint64_t ticket) noexcept {
    if (!undeclared_) return {};
    const auto gone = undeclared_->holders.extract(ticket);
    return gone ? std::move(gone.mapped().who) : holder{};
}

std::pair<std::uint64_t, holder> holds::holder_after(std::uint64_t last, space where, const region& part) const {
    if (!undeclared_) return {};
    for (auto each = undeclared_->holders.upper_bound(last); each != undeclared_->holders.end(); ++each) {
        const named_holder& found = each->second;
        if (found.where == where && part.overlaps(found.of->part)) return {each->first, found.who};
    }
    return {};
}

bool holds::may_be_let_go(space where) const noexcept {
    if (!undeclared_ || handle_is_out(where.id())) return false;
    if (where == host && undeclared_->writers_of_host.any_pointer()) return false;
    const auto is_there = [&](const auto& each) { return each.second.where == where; };
    return !stands_at(where) && std::ranges::any_of(undeclared_->holders, is_there);
}

std::uint64_t holds::add_standing(standing added) {
    const std::uint64_t ticket = added.ticket = added.began_at = next_ticket();
    held_ranges& readers = readers_at(added.where.id());
    added.keeps_copy = &readers.add_view({added.part.hull()});
    try {
        with_undeclared().standing_holds.push_back(std::move(added));
    } catch (...) {
        readers.end_view(*added.keeps_copy);
        throw;
    }
    return ticket;
}

void holds::remove_standing(std::uint64_t ticket) noexcept {
    const standing* const gone = find_standing(ticket);
    readers_at(gone->where.id()).end_view(*gone->keeps_copy);
    std::erase_if(undeclared_->standing_holds, [&](const standing& each) { return each.ticket == ticket; });
}

void holds::add_upload(const held_view& of, byte_range range, space where) {
    held_ranges& readers = readers_at(coherence::host);
    held_view& pinning = readers.add_view({range});
    try {
        with_undeclared().uploads.push_back({&of, range, where, &pinning});
    } catch (...) {
        readers.end_view(pinning);
        throw;
    }
}

void holds::end_view(coherence::space_id where, held_view& ended) noexcept {
    const auto upload = std::ranges::find(undeclared_->uploads, &ended, &captured_upload::of);
    if (upload != undeclared_->uploads.end()) {
        readers_at(coherence::host).end_view(*upload->keeps_copy);
        undeclared_->uploads.erase(upload);
    }
    (ended.writes_host ? writers_of_host() : readers_at(where)).end_view(ended);
}

const captured_upload* holds::upload_of(const region& part) const noexcept {
    if (!undeclared_) return nullptr;
    const auto overlaps = [&](const captured_upload& each) { return part.overlaps(each.range); };
    const auto found = std::ranges::find_if(undeclared_->uploads, overlaps);
    return found != undeclared_->uploads.end() ? &*found : nullptr;
}

std::vector<standing>& holds::standing_holds() noexcept {
    static constinit std::vector<standing> none;  // stays empty
    return undeclared_ ? undeclared_->standing_holds : none;
}

standing* holds::find_standing(std::uint64_t ticket) noexcept {
    std::vector<standing>& all = standing_holds();
    const auto found = std::ranges::lower_bound(all, ticket, {}, &standing::ticket);
    return found != all.end() && found->ticket == ticket ? &*found : nullptr;
}

bool holds::stands_at(space where) const noexcept {
    const auto is_there = [&](const standing& each) { return each.where == where; };
    return undeclared_ && std::ranges::any_of(undeclared_->standing_holds, is_there);
}

std::size_t holds::index_of_standing(std::uint64_t ticket) noexcept {
    const auto after = std::ranges::upper_bound(standing_holds(), ticket, {}, &standing::ticket);
    return static_cast<std::size_t>(after - standing_holds().begin()) - 1;
}

const standing* holds::standing_against(const region& part, space where, access what) const noexcept {
    if (!undeclared_) return nullptr;
    for (const standing& each : undeclared_->standing_holds) {
        const bool only_read = each.what == access::read && what == access::read;
        if (each.part.overlaps(part) && each.where != where && !only_read) return &each;
    }
    return nullptr;
}

const char* holds::broken_rule() const noexcept {
    const auto broken_pair = [](const hold& one, const hold& other) -> const char* {
        if (one.claim != other.claim || !one.part.overlaps(other.part)) return nullptr;
        if (one.claim) return one.thread == other.thread ? nullptr : "two accesses move the same bytes";
        return one.what == access::read && other.what == access::read ? nullptr : "two leases exclude each other";
    };
    const hold unlocked = solo();
    const char* broken = nullptr;
    std::size_t count = 0;
    std::size_t claims = 0;
    exclusive_.any([&](const hold& each) {
        ++count;
        claims += each.claim;
        if (unlocked.thread != 0) broken = broken_pair(each, unlocked);
        return broken || exclusive_.any(each.range(), [&](const hold& other) {
            if (&other != &each) broken = broken_pair(each, other);
            return broken != nullptr;
        });
    });
    if (!broken && (count != count_ || claims != claims_)) broken = "exclusive holds are not counted right";
    if (broken) return broken;
    if (!undeclared_) return nullptr;
    for (const standing& each : undeclared_->standing_holds) {
        if (standing_against(each.part, each.where, each.what)) return "two standing holds exclude each other";
    }
    return nullptr;
}

}  // namespace unibuf::detail
