// buffer/work_list.hpp: device work on one buffer that may still be under way.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "backends/backend.hpp"
#include "buffer/named_queue.hpp"
#include "coherence/plan.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::detail {

struct work {
    fence done;
    named_queue on;          // the queue that the work is on; where none was named, it may be any of the device's
    bool transfer = false;   // a transfer of unibuf's own: where it fails, what it wrote is not current
    bool unordered = false;  // an event of the program's own, which may come before or after any other
    bool orphaned = false;   // what it writes belongs to nobody any more, so its failure is nothing to anybody
    std::uint32_t thread = this_thread();       // the thread that queued the work: a queue may be one for each thread
    const backends::late_work* late = nullptr;  // of `done`, where that is late work
    std::exception_ptr failure{};               // what an event of the program's own has told when it was looked at

    /// Returns whether nobody has asked for `done` yet: what is submitted now is part of it.
    bool is_late() const noexcept { return late && !late->is_known(); }
};

/// The queued work of one buffer. To add work, to find it and to take it out is logarithmic in the number of works, and
/// linear in those that share bytes with it. Not thread-safe: the buffer's lock guards it.
class work_list {
public:
    using ticket = coherence::work_ticket;
    using queued_work = coherence::queued_work;

    bool empty() const noexcept { return !table_ || table_->count == 0; }

    /// Returns the number of the work that was queued last, of that which is noted; 0 where there is none.
    std::uint64_t newest() const noexcept { return empty() ? 0 : table_->last; }

    /// Returns whether so much work is noted that it pays to ask which of it is done.
    bool is_long() const noexcept { return table_ && table_->count >= table_->long_from; }

    /// Returns whether whatever `thread` puts on the queue `on` of the space `where`, which it names, comes after all
    /// of this work.
    bool is_before_all_on(const named_queue& on, coherence::space_id where, std::uint32_t thread) const noexcept;

    bool any_writes() const noexcept { return table_ && table_->writers != 0; }

    /// Returns whether is(space_id) holds for a space of any work.
    template <class Is>
    bool any_at(const Is& is) const noexcept {
        bool result = false;
        if (table_) coherence::for_each_space(table_->spaces, [&](coherence::space_id each) { result |= is(each); });
        return result;
    }

    /// Returns what coherence needs to know of the work.
    const coherence::queued_works& by_range() const noexcept {
        static constinit const coherence::queued_works none;
        return table_ ? table_->by_range : none;
    }

    /// Returns whether visit(const queued_work&, const work&) returns true for any work, or for any that shares a byte
    /// with `part`; asks no more then.
    template <class Visit>
    bool any(const Visit& visit) const {
        return by_range().any([&](const coherence::queued_node& each) { return visit(each, of(each)); });
    }
    template <class Visit>
    bool any(const region& part, const Visit& visit) const {
        return by_range().any(part.hull(), [&](const coherence::queued_node& each) {
            return each.part.overlaps(part) && visit(each, of(each));
        });
    }

    /// Makes room, so that so many calls of `add` do not throw.
    void reserve(std::size_t more);

    /// Returns whether the list has such work that a lease has left behind, and what is submitted now is part of it.
    bool has_late(const queued_work& queued, const named_queue& on) const noexcept;

    /// Adds work. Older work that cannot be done later than this is forgotten. REQUIRES: reserve() has made room.
    void add(const queued_work& queued, work added) noexcept;

    /// Returns the work `which`, or null where it is done and forgotten.
    const work* find(const ticket& which) const noexcept;
    void remove(const ticket& which) noexcept;
    void note_failure(const ticket& which, const std::exception_ptr& failure) noexcept;

    /// Forgets all work for which is(const queued_work&, const work&) holds; with a part, such as shares a byte with
    /// it.
    template <class Is, class... Part>
    void remove_where(const Is& is, const Part&... part) noexcept;

    /// Notes that the content is forgotten: all work is still waited for, as it uses the memory.
    void orphan_all() noexcept;

    /// Forgets work that is done: all of a short or a long list, else what shares a byte with `part`. Work that has
    /// failed stays, for an access that it matters to. What nobody has asked for yet is asked where `asks_late`, and in
    /// a long list. The program's own events are never asked: its code is not called under the lock (see
    /// access/waits.hpp).
    void forget_done(const region& part, bool asks_late = false) noexcept;

    /// Returns the program's own events that have not failed, with their tickets: those that `forget_done` would ask of
    /// other work. REQUIRES: there is work.
    std::vector<std::pair<ticket, fence>> events(const region& part) const;

private:
    static constexpr std::size_t shortest_long = 8;

    /// Returns whether all work is asked at an access, and not only what shares a byte with it.
    bool is_asked_as_a_whole() const noexcept { return is_long() || table_->count < shortest_long; }

    /// Entries live as long as the list, so that a ticket of work that has gone is known as such.
    struct entry final : coherence::queued_node {
        work of{};
        entry* next = nullptr;  // in a list of spare ones, or of those that are about to go
    };

    /// Works of one order come one after the other.
    struct order {
        named_queue on{};
        coherence::space_id where = coherence::host;
        std::uint32_t thread = 0;

        friend bool operator==(const order&, const order&) = default;
    };

    struct table {
        table() noexcept = default;
        ~table();
        table(const table&) = delete;
        table& operator=(const table&) = delete;

        coherence::queued_works by_range;
        entry* spare = nullptr;
        std::size_t spares = 0;
        std::size_t count = 0;
        std::size_t writers = 0;
        std::array<std::uint32_t, max_spaces> count_at{};
        coherence::space_set spaces = 0;  // those of any work
        order in{};                       // of all works, where `in_one_order`
        bool in_one_order = false;
        std::uint64_t last = 0;  // ticket
        std::size_t long_from = shortest_long;
    };

    static const work& of(const coherence::queued_node& node) noexcept { return static_cast<const entry&>(node).of; }
    static order order_of(const queued_work& queued, const work& of) noexcept {
        return {of.on, queued.where, of.thread};
    }
    static bool covers(const queued_work& queued, const work& added, const queued_work& older,
                       const work& before) noexcept;
    void note_order(const queued_work& queued, const work& added) noexcept;
    void take_out(entry& gone) noexcept;

    std::unique_ptr<table> table_;  // null in a buffer that has never queued work
};

template <class Is, class... Part>
void work_list::remove_where(const Is& is, const Part&... part) noexcept {
    entry* going = nullptr;
    by_range().any(part.hull()..., [&](coherence::queued_node& each) {
        auto& found = static_cast<entry&>(each);
        if (is(found, found.of)) found.next = std::exchange(going, &found);
        return false;
    });
    while (going) take_out(*std::exchange(going, going->next));
}

}  // namespace unibuf::detail
