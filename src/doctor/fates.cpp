// doctor/fates.cpp: what became of the bytes that transfers have brought.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>
#include <utility>

#include "doctor/byte_map.hpp"
#include "doctor/rows.hpp"
#include "unibuf/space.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace doctor {
namespace {

using number = std::uint64_t;  // of an event, or of a fate, from 1 on; 0 is none

enum class presence : std::uint8_t {
    stale,
    current,
    evicted,  // they were current, and have gone because others needed the memory
};

/// What is known of one memory's bytes.
struct memory_bytes {
    byte_map<number> unused;      // the transfer that brought them, until somebody uses them
    byte_map<number> brought_by;  // the transfer that brought them, until they are written without being read
    byte_map<number> written;     // the event that wrote them here
    byte_map<number> passed;      // the event that moved them between here and the host
    byte_map<presence> are;
};

/// All events that there are, and what is among them: maps that nothing needs are left alone.
struct all_events {
    explicit all_events(std::span<const event> all)
        : events(all),
          any_news(std::ranges::any_of(all, [](const event& each) { return each.news != 0; })),
          any_eviction(std::ranges::any_of(all, [](const event& each) { return each.kind == event_kind::eviction; })) {}

    std::span<const event> events;
    bool any_news;
    bool any_eviction;
};

/// What the events before have said of a buffer.
class buffer_fates {
public:
    buffer_fates(const all_events& known, std::vector<transfer_fate>& all) : known_(known), all_(all) {
        for (std::size_t id = 0; id < memory_.size(); ++id) {
            memory_[id] = detail::as_named(space::from_id(static_cast<std::uint8_t>(id))).id();
        }
    }

    /// Takes the event at a place among all.
    void add(const event& made, std::size_t place) {
        now_ = place + 1;
        switch (made.kind) {
            case event_kind::allocation:
                memory_[made.to] = memory_[made.from];
                break;
            case event_kind::transfer:
                arrive(made);
                break;
            case event_kind::access:
                if (!made.is_demand) break;
                settle(made, at(made.to),
                       made.what == access::write ? &transfer_fate::overwritten : &transfer_fate::used);
                break;
            case event_kind::fill:
                settle(made, at(made.to), &transfer_fate::overwritten);
                break;
            case event_kind::found:
            case event_kind::assumed:
            case event_kind::mark:
                settle(made, at(made.to), &transfer_fate::used);
                break;
            case event_kind::discard:
                settle_elsewhere(made, max_spaces);
                break;
            case event_kind::eviction:
                settle(made, at(made.to), &transfer_fate::unread);
                change(made, at(made.to).are,
                       [](presence& is) { is = is == presence::stale ? presence::stale : presence::evicted; });
                break;
            case event_kind::release:
                settle(made, at(made.to), &transfer_fate::unread);
                break;
            case event_kind::none:
            case event_kind::wait:
            case event_kind::lease_end:
            case event_kind::text:
                break;
        }
        if (is_write(made)) write(made);
    }

    /// What is not used now will not be.
    void end() {
        for (auto& [memory, each] : bytes_) {
            each.unused.for_each([&](number by, std::uint64_t bytes) {
                if (by != 0) all_[by - 1].unread += bytes;
            });
        }
    }

private:
    memory_bytes& at(std::uint8_t space) { return bytes_[memory_[space]]; }  // made when it is asked for

    template <class T, class Change>
    static void change(const event& of, byte_map<T>& bytes, Change change) {
        for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            bytes.change(begin, end, [&](T& value, std::uint64_t) { change(value); });
        });
    }

    /// Says what became of bytes at a space that nobody had used since they were brought.
    void settle(const event& of, memory_bytes& in, std::uint64_t transfer_fate::* what) {
        for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            in.unused.change(begin, end, [&](number& by, std::uint64_t bytes) {
                if (by == 0) return;
                transfer_fate& its = all_[by - 1];
                its.*what += bytes;
                if (what == &transfer_fate::used && !its.first_use) its.first_use = now_ - 1;
                by = 0;
            });
        });
    }

    void settle_elsewhere(const event& of, std::size_t memory) {
        for (auto& [other, bytes] : bytes_) {
            if (other != memory) settle(of, bytes, &transfer_fate::unread);
        }
    }

    void write(const event& made) {
        memory_bytes& here = at(made.to);
        settle_elsewhere(made, memory_[made.to]);
        const bool is_whole =
            made.kind == event_kind::fill || (made.kind == event_kind::access && made.what == access::write);
        if (is_whole) change(made, here.brought_by, [](number& by) { by = 0; });
        if (known_.any_news) change(made, here.written, [&](number& by) { by = now_; });
        change(made, writers_, [&](number& by) { by = now_; });
        if (!known_.any_eviction) return;
        for (auto& [memory, each] : bytes_) {
            change(made, each.are, [&](presence& is) { is = &each == &here ? presence::current : presence::stale; });
        }
    }

    void arrive(const event& made) {
        const number index = all_.size() + 1;
        transfer_fate arrived{.transfer = now_ - 1};
        memory_bytes& from = at(made.from);
        memory_bytes& to = at(made.to);
        const number writer = writers_.at(made.begin);
        if (writer != 0) arrived.writer = writer - 1;
        if (const number before = from.brought_by.at(made.begin); before != 0) {
            const bool is_answer = memory_[known_.events[all_[before - 1].transfer].from] == memory_[made.to] &&
                                   writer != 0 && memory_[known_.events[writer - 1].to] == memory_[made.from];
            if (is_answer) arrived.answers = before - 1;
            change(made, from.brought_by, [](number& by) { by = 0; });  // each is answered once
        }
        if (known_.any_news) arrived.is_back = passes_back(made, made.to == host.id() ? from : to, to);
        if (known_.any_eviction) arrived.evicted = return_of_evicted(made, to);
        all_.push_back(arrived);
        settle(made, at(made.to), &transfer_fate::unread);
        change(made, to.unused, [&](number& by) { by = index; });
        change(made, to.brought_by, [&](number& by) { by = index; });
    }

    /// Returns whether bytes that had passed between the host and a device pass again unchanged. What passes is noted
    /// at the device.
    bool passes_back(const event& made, memory_bytes& device, memory_bytes& to) {
        number written = 0;
        number passed = std::numeric_limits<number>::max();
        change(made, to.written, [&](number by) { written = std::max(written, by); });
        change(made, device.passed, [&](number& by) { passed = std::min(passed, std::exchange(by, now_)); });
        return made.news == 1 && written < passed;
    }

    /// Returns how many of the bytes that arrive were there and had been evicted.
    static std::uint64_t return_of_evicted(const event& made, memory_bytes& to) {
        std::uint64_t result = 0;
        for_each_row(made, [&](std::uint64_t begin, std::uint64_t end) {
            to.are.change(begin, end, [&](presence& is, std::uint64_t bytes) {
                if (std::exchange(is, presence::current) == presence::evicted) result += bytes;
            });
        });
        return result;
    }

    const all_events& known_;
    std::array<std::uint8_t, max_spaces> memory_{};  // whose memory a space uses
    std::map<std::uint8_t, memory_bytes> bytes_;
    byte_map<number> writers_;
    std::vector<transfer_fate>& all_;
    number now_ = 0;
};

}  // namespace
}  // namespace doctor

std::vector<transfer_fate> fates_of(std::span<const event> events) {
    std::vector<transfer_fate> result;
    const doctor::all_events known(events);
    std::map<std::pair<std::uint32_t, std::uint64_t>, doctor::buffer_fates> buffers;  // by process and buffer
    for (std::size_t i = 0; i < events.size(); ++i) {
        const event& each = events[i];
        buffers.try_emplace({each.process, each.buffer}, known, result).first->second.add(each, i);
    }
    for (auto& [key, each] : buffers) each.end();
    return result;
}

}  // namespace unibuf
