// trace/fates.cpp
#include "trace/fates.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "trace/byte_map.hpp"
#include "trace/rows.hpp"
#include "unibuf/space.hpp"

namespace unibuf::trace {
namespace {

using number = std::uint32_t;  // of an event, or of a transfer, from 1 on; 0 is none

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

class fates {
public:
    fates() {
        for (std::size_t id = 0; id < memory_.size(); ++id) memory_[id] = static_cast<std::uint8_t>(id);
        memory_[host_as_device.id()] = host.id();
    }

    void add(const event& made) {
        ++now_;
        switch (made.kind) {
            case event_kind::allocation:
                memory_[made.to] = memory_[made.from];
                break;
            case event_kind::transfer:
                arrive(made);
                break;
            case event_kind::access:
                if (!made.is_demand) break;
                settle(made, made.to, made.what == access::write ? &brought::overwritten : &brought::used);
                break;
            case event_kind::fill:
                settle(made, made.to, &brought::overwritten);
                break;
            case event_kind::found:
            case event_kind::assumed:
            case event_kind::mark:
                settle(made, made.to, &brought::used);
                break;
            case event_kind::discard:
                settle_elsewhere(made, max_spaces);
                break;
            case event_kind::eviction:
                settle(made, made.to, &brought::unread);
                change(made, at(made.to).are,
                       [](presence& is) { is = is == presence::stale ? presence::stale : presence::evicted; });
                break;
            case event_kind::release:
                settle(made, made.to, &brought::unread);
                break;
            case event_kind::none:
            case event_kind::wait:
            case event_kind::lease_end:
            case event_kind::text:
                break;
        }
        if (writes(made)) write(made);
    }

    std::vector<brought> all() {
        for (memory_bytes& each : bytes_) {
            each.unused.for_each([&](number by, std::uint64_t bytes) {
                if (by != 0) all_[by - 1].unread += bytes;
            });
        }
        return std::move(all_);
    }

private:
    memory_bytes& at(std::uint8_t space) { return bytes_[memory_[space]]; }

    template <class T, class Change>
    static void change(const event& of, byte_map<T>& bytes, Change change) {
        for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            bytes.change(begin, end, [&](T& value, std::uint64_t) { change(value); });
        });
    }

    /// Says what became of bytes at a space that nobody had used since they were brought.
    void settle(const event& of, std::uint8_t space, std::uint64_t brought::* what) {
        for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            at(space).unused.change(begin, end, [&](number& by, std::uint64_t bytes) {
                if (by != 0) all_[by - 1].*what += bytes;
                by = 0;
            });
        });
    }

    void settle_elsewhere(const event& of, std::size_t memory) {
        for (std::size_t other = 0; other < max_spaces; ++other) {
            if (memory_[other] == other && other != memory) {
                settle(of, static_cast<std::uint8_t>(other), &brought::unread);
            }
        }
    }

    void write(const event& made) {
        settle_elsewhere(made, memory_[made.to]);
        const bool is_whole =
            made.kind == event_kind::fill || (made.kind == event_kind::access && made.what == access::write);
        if (is_whole) change(made, at(made.to).brought_by, [](number& by) { by = 0; });
        change(made, at(made.to).written, [&](number& by) { by = now_; });
        change(made, writers_, [&](const event*& by) { by = &made; });
        for (memory_bytes& each : bytes_) {
            change(made, each.are,
                   [&](presence& is) { is = &each == &at(made.to) ? presence::current : presence::stale; });
        }
    }

    void arrive(const event& made) {
        const auto index = static_cast<number>(all_.size() + 1);
        brought arrived{.made = &made, .writer = writers_.at(made.begin)};
        memory_bytes& from = at(made.from);
        memory_bytes& to = at(made.to);
        if (const number before = from.brought_by.at(made.begin); before != 0) {
            const event& other = *all_[before - 1].made;
            const bool is_answer =
                other.from == made.to && arrived.writer && memory_[arrived.writer->to] == memory_[made.from];
            if (is_answer) arrived.answers = before - 1;
            change(made, from.brought_by, [](number& by) { by = 0; });  // each is answered once
        }
        // What has passed between a device and the host is noted at the device.
        memory_bytes& device = made.to == host.id() ? from : to;
        number written = 0;
        number passed = std::numeric_limits<number>::max();
        change(made, to.written, [&](number by) { written = std::max(written, by); });
        change(made, device.passed, [&](number& by) { passed = std::min(passed, std::exchange(by, now_)); });
        arrived.is_back = made.news == 1 && written < passed;
        for_each_row(made, [&](std::uint64_t begin, std::uint64_t end) {
            to.are.change(begin, end, [&](presence& is, std::uint64_t bytes) {
                if (std::exchange(is, presence::current) == presence::evicted) arrived.evicted += bytes;
            });
        });
        all_.push_back(arrived);
        settle(made, made.to, &brought::unread);
        change(made, to.unused, [&](number& by) { by = index; });
        change(made, to.brought_by, [&](number& by) { by = index; });
    }

    std::array<std::uint8_t, max_spaces> memory_{};  // whose memory a space uses
    std::array<memory_bytes, max_spaces> bytes_{};
    byte_map<const event*> writers_;
    std::vector<brought> all_;
    number now_ = 0;
};

}  // namespace

std::vector<brought> fates_of(std::span<const event* const> events) {
    fates result;
    for (const event* const each : events) result.add(*each);
    return result.all();
}

}  // namespace unibuf::trace
