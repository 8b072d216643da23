// memory/limits.cpp: makes room where memory is short: who goes first, and what is said where nobody can.
#include "memory/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/host/pinned_memory.hpp"
#include "backends/spaces.hpp"
#include "memory/usage.hpp"
#include "system/deadline.hpp"
#include "trace/recorder.hpp"
#include "unibuf/detail/sizes.hpp"

namespace unibuf::detail {
namespace {

constexpr std::chrono::milliseconds longest_nap(10);
constexpr std::size_t most_named = 5;  // of the buffers that hold memory which others lack

/// Returns "buffer #7 (4000 bytes, made in main at solver+0x1234): this thread has a lease of it".
std::string describe(const resident::departure& of, space where) {
    const std::string place = trace::place_of_allocation(of.buffer, where.id());
    const std::string made = place.empty() ? "" : ", made in " + place;
    const auto why = [&]() -> std::string_view {
        switch (of.why) {
            case obstacle::none:
                return "it could go";
            case obstacle::absent:
                return "its memory is shared, or the only copy";
            case obstacle::given:
                return "it is memory of the program's own, which discard(host) gives back to it";
            case obstacle::leased:
                return "this thread has a lease of it";
            case obstacle::held:
                return "a handle or a pointer is out, or it is bound";
            case obstacle::viewed:
                return "views are out";
            case obstacle::busy:
                return "other threads use it";
        }
        return "";
    };
    return fmt::format("buffer #{} ({} bytes{}): {}", of.buffer, of.bytes, made, why());
}

/// Set while the calling thread makes room: what goes needs memory itself then, at the host, and waits for nobody.
thread_local constinit bool making_room = false;

class makes_room {
public:
    makes_room() : before_(std::exchange(making_room, true)) {}
    ~makes_room() { making_room = before_; }
    makes_room(const makes_room&) = delete;
    makes_room& operator=(const makes_room&) = delete;

private:
    bool before_;
};

bool can_go(const resident::departure& its) noexcept {
    return its.why == obstacle::none || its.why == obstacle::viewed;
}

}  // namespace

/// A copy that could go; copies with the least order go first.
struct residents::candidate {
    struct give_handle_back {
        void operator()(resident* its) const noexcept { its->give_handle_back(); }
    };

    std::unique_ptr<resident, give_handle_back> buffer;
    bool viewed = false;
    rank order{};
};

residents& residents::instance() {
    static auto* const only = new residents;  // buffers may go when static objects do
    return *only;
}

residents::place residents::add(resident& added) {
    std::list<entry> one;
    one.emplace_back(added);
    const std::scoped_lock lock(mutex_);
    changed_.splice(changed_.begin(), one);
    return changed_.begin();
}

void residents::remove(place gone) noexcept {
    const std::scoped_lock lock(mutex_);
    const bool has_changed = !gone->is_looked_at();
    take_off_lists(*gone);
    (has_changed ? changed_ : looked_at_).erase(gone);
}

void residents::move_to_changed(place which) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!which->is_looked_at()) return;
    take_off_lists(*which);
    changed_.splice(changed_.begin(), looked_at_, which);
}

void residents::take_off_lists(entry& which) noexcept {
    if (!which.is_looked_at()) return;
    listings& its = *which.listed.load();
    its.is_looked_at = false;
    for (listing& each : its.of_spaces) {
        if (!each.spare) each.spare = lists_[each.where].extract(each.at);
    }
}

/// Returns the listing of a copy that is not listed, with a node, which is made the first time.
residents::listing& residents::listing_in(listings& all, coherence::space_id where) {
    const auto found = std::ranges::find(all.of_spaces, where, &listing::where);
    if (found != all.of_spaces.end()) return *found;
    list one;
    one.try_emplace({});
    all.of_spaces.push_front({where, {}, one.extract(one.begin())});
    return all.of_spaces.front();
}

/// Lists the copies of a buffer that has changed, where they can go now. Returns false where a thread is at work on it.
bool residents::put_on_lists(entry& which) {
    if (!which.listed.load()) which.listed = new listings;
    listings& its = *which.listed.load();
    its.is_looked_at = true;  // first: what changes from now on is for the next look
    resident::departures found;
    if (!which.buffer->look(lacked_room_, found)) return false;
    for (const resident::departure& each : found) {
        if (!can_go(each)) continue;
        listing& now = listing_in(its, each.where.id());
        assert(now.spare);
        now.spare.key() = {each.is_postponed, !each.current_elsewhere, each.used};
        now.spare.mapped() = {which.buffer, each.why == obstacle::viewed};
        list& all = lists_[now.where];  // most come last
        now.at = all.insert(all.end(), std::move(now.spare));
        assert(!now.spare);  // no two buffers have the same number of a use
    }
    return true;
}

/// Keeps a list for the space from now on: all have to be looked at.
void residents::keep_list(space where) {
    if (coherence::has(lacked_room_, where.id())) return;
    lacked_room_ |= coherence::set_of(where.id());
    for (entry& each : looked_at_) take_off_lists(each);
    changed_.splice(changed_.begin(), looked_at_);
}

/// Looks at those that have changed. What changes meanwhile is looked at the next time.
void residents::look_at_changed() {
    for (auto each = changed_.begin(); each != changed_.end();) {
        const auto now = each++;
        bool is_seen = false;
        try {
            is_seen = put_on_lists(*now);
        } catch (...) {
            take_off_lists(*now);
            throw;
        }
        if (is_seen) {
            looked_at_.splice(looked_at_.begin(), changed_, now);
        } else {
            take_off_lists(*now);
        }
    }
}

/// Returns the next one after `tried` that could go, and was not used after `newest`; without a buffer where there is
/// none.
residents::candidate residents::next_listed(space where, const std::optional<rank>& tried, std::uint64_t newest,
                                            const resident* asking) {
    const std::scoped_lock lock(mutex_);
    keep_list(where);
    look_at_changed();
    const list& all = lists_[where.id()];
    for (auto at = tried ? all.upper_bound(*tried) : all.begin(); at != all.end(); ++at) {
        const auto& [order, its] = *at;
        if (its.buffer == asking || order.used > newest) continue;
        if (its.buffer->add_handle_if_alive()) {
            return {decltype(candidate::buffer)(its.buffer), its.viewed, order};
        }
    }
    return {};
}

/// Drops those that are listed, the first ones first. One that cannot go is used by that, and is not tried again.
void residents::evict_listed(space where, std::uint64_t bytes, const wait_limit& limit, std::uint64_t newest,
                             const resident* asking, outcome& so_far) {
    const clock::time_point until = std::min(system::deadline_after(patience_for_answers), limit.until);
    std::optional<rank> tried;
    while (so_far.freed < bytes) {
        const candidate next = next_listed(where, tried, newest, asking);
        if (!next.buffer) return;
        tried = next.order;
        if (next.viewed && !next.buffer->ask_to_let_go(where)) continue;
        try {
            so_far.freed += next.buffer->evict(where, {.until = until, .by = limit.by});
        } catch (const error&) {
            continue;  // who asks all is told
        }
    }
}

/// Asks all residents.
std::vector<residents::candidate> residents::all_candidates(space where, std::uint64_t newest, const resident* asking,
                                                            outcome& so_far) {
    std::vector<candidate> all;
    const std::scoped_lock lock(mutex_);
    all.reserve(changed_.size() + looked_at_.size());  // a handle that is given back under the lock may be the last
    const auto ask = [&](const entry& which) {
        resident* const buffer = which.buffer;
        if (buffer == asking) return;
        resident::departures found;
        so_far.busy |= !buffer->look(coherence::set_of(where.id()), found);
        if (found.empty()) return;
        const resident::departure* const its = found.begin();
        if (its->bytes != 0) so_far.largest.push_back(*its);
        so_far.held += its->why == obstacle::held || its->why == obstacle::leased;
        so_far.busy |= its->why == obstacle::busy;
        if (!can_go(*its)) return;
        const bool viewed = its->why == obstacle::viewed;
        if (viewed && its->used > newest) {  // whoever has the views was asked
            ++so_far.held;
            return;
        }
        if (!buffer->add_handle_if_alive()) {
            so_far.busy = true;  // its memory goes with it
            return;
        }
        decltype(candidate::buffer) kept(buffer);
        all.push_back({std::move(kept), viewed, {false, !its->current_elsewhere, its->used}});
    };
    std::ranges::for_each(changed_, ask);
    std::ranges::for_each(looked_at_, ask);
    return all;
}

residents::outcome residents::make_room(space where, std::uint64_t bytes, const wait_limit& limit,
                                        const resident* asking) {
    outcome result;
    const makes_room now;
    const std::uint64_t newest = last_use.load(std::memory_order_relaxed);
    evict_listed(where, bytes, limit, newest, asking, result);
    if (result.freed >= bytes) return result;
    std::vector<candidate> all = all_candidates(where, newest, asking, result);
    std::ranges::sort(result.largest, std::ranges::greater{}, &resident::departure::bytes);
    if (result.largest.size() > most_named) result.largest.resize(most_named);
    std::ranges::sort(all, {}, &candidate::order);
    // Copies that work is queued on come last: the wait for that work may not be needed.
    for (const clock::time_point until :
         {std::min(system::deadline_after(patience_for_answers), limit.until), limit.until}) {
        for (candidate& each : all) {
            if (result.freed >= bytes) return result;
            if (!each.buffer) continue;
            if (std::exchange(each.viewed, false) && !each.buffer->ask_to_let_go(where)) {
                ++result.held;
                each.buffer.reset();
                continue;
            }
            try {
                const std::uint64_t freed = each.buffer->evict(where, {.until = until, .by = limit.by});
                result.freed += freed;
                result.busy |= freed == 0;  // somebody has taken it in between, and will end
            } catch (const error& failure) {
                result.failure = failure.message();
                if (failure.code() == error_code::timeout) continue;
            }
            each.buffer.reset();
        }
    }
    return result;
}

room::room(const resident& asking, space where, std::uint64_t bytes, const wait_limit& limit)
    : asking_(asking), where_(where), bytes_(bytes), limit_(limit) {
    if (bytes > most_bytes) {
        refuse(fmt::format("{} bytes were asked for at {}, and no memory has more than {}", bytes, where.name(),
                           most_bytes));
    }
    while (!reserve_memory(where, bytes)) {
        const auto [held, most] = std::pair(memory_in(where).held, memory_in(where).limit);
        const bool fits = lies_within(held, bytes, most);
        if (fits || (bytes <= most && make(held - (most - bytes)))) continue;
        if (reserve_memory(where, bytes)) break;  // others have let go between the two looks
        refuse(fmt::format("{} bytes were asked for at {}, which is limited to {} and holds {}{}", bytes, where.name(),
                           most, held,
                           bytes > most ? ": a copy is as large as its buffer, so divide it into several" : ""));
    }
}

room::~room() {
    if (!kept_) remove_memory(where_, bytes_);
}

bool room::make(std::uint64_t bytes) {
    if (!patience_) patience_ = making_room ? std::chrono::nanoseconds::zero() : patience_for_memory.load();
    tried_ = residents::instance().make_room(where_, bytes, limit_, &asking_);
    if (tried_.freed != 0) return true;
    if (!tried_.busy || *patience_ <= std::chrono::nanoseconds::zero() || clock::now() >= limit_.until) return false;
    if (backends::help_others) backends::help_others();  // they may wait for this thread
    std::this_thread::sleep_for(next_nap_);
    if (*patience_ != forever) *patience_ -= next_nap_;
    // Each look asks all buffers, so that a long wait takes few of them: naps take a ninth of the time until now.
    next_nap_ = std::min<std::chrono::microseconds>(next_nap_ + next_nap_ / 8, longest_nap);
    limit_.ask();
    return true;
}

void room::refuse(std::string why) const {
    if (tried_.held != 0) {
        why += fmt::format(
            "; {} copies there have to stay, as they are leased or bound, or views or plain handles of them are out",
            tried_.held);
    }
    if (tried_.busy) why += "; others were in use all the time";
    for (std::size_t i = 0; i < tried_.largest.size(); ++i) {
        why += (i == 0 ? "; most there is of " : ", ") + describe(tried_.largest[i], where_);
    }
    if (!tried_.failure.empty()) why += "; one could not go: " + tried_.failure;
    throw error(error_code::out_of_memory, why);
}

}  // namespace unibuf::detail

namespace unibuf {

void limit_memory(space where, std::uint64_t bytes) {
    detail::set_memory_limit(where, bytes);
    const std::uint64_t held = memory_in(where).held;
    if (held > bytes) detail::residents::instance().make_room(where, held - bytes, detail::wait_limit::of_call());
}

void trim_memory(space where) {
    backends::device_of(where).trim();
    if (where == host) backends::trim_pinned();
}

}  // namespace unibuf
