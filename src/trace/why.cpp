// trace/why.cpp: tells the events of a buffer in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include "trace/byte_map.hpp"
#include "trace/rows.hpp"
#include "trace/told.hpp"
#include "unibuf/error.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace {

class story {
public:
    story(const trace_file& names, std::span<const event> events) : names_(names), begin_(events.front().time) {
        for (transfer_fate& each : fates_of(events)) fates_[&events[each.transfer]] = each;
    }

    std::string tell(const event& of) const {
        const std::uint64_t after = of.time - begin_;
        return fmt::format("{:.6f} s, thread {}: {}", static_cast<double>(after) / 1e9, of.thread, sentence(of));
    }

    /// Returns what happened, and where the program asked for it.
    std::string sentence(const event& of) const {
        std::string result = what(of);
        if (of.is_batched) result += ", in a batch";
        if (of.site != 0) result += ", in " + site(of.site);
        return result;
    }

    void remember(const event& of) {
        if (!trace::writes(of)) return;
        trace::for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            writers_.change(begin, end, [&](const event*& by, std::uint64_t) { by = &of; });
        });
    }

private:
    std::string name(std::uint8_t id) const { return names_.space_name(id); }
    std::string site(std::uint64_t address) const { return names_.site_name(address); }

    static std::string bytes(const event& of) {
        std::string result = fmt::format("bytes [{}, {})", of.begin, of.end);
        if (of.axes == 1) result = fmt::format("{} rows of {} bytes among {}", of.counts[0], of.row_bytes, result);
        if (of.axes == 2) {
            result = fmt::format("{} x {} rows of {} bytes among {}", of.counts[0], of.counts[1], of.row_bytes, result);
        }
        return result;
    }

    /// Returns why the bytes took no better way.
    static std::string_view detour(transfer_route taken) {
        if (taken == transfer_route::staged) return " by a staging buffer, as those of the host are not pinned";
        if (taken == transfer_route::by_host) return " by way of the host, as neither of the two reaches the other";
        return {};
    }

    static std::string moved(const event& of) {
        if (of.took == 0) return fmt::format("{} bytes", of.bytes);
        return fmt::format("{} bytes in {:.1f} us", of.bytes, static_cast<double>(of.took) / 1e3);
    }

    std::string accessed(const event& of) const {
        static constexpr std::string_view verbs[] = {"", "read", "write", "read and write"};
        const std::string_view verb = verbs[static_cast<std::size_t>(of.what)];
        std::string result;
        switch (of.why) {
            case cause::host_pointer:
                result = fmt::format("a pointer to {} was given out", bytes(of));
                break;
            case cause::device_handle:
                result = fmt::format("a handle at {} to {} was given out", name(of.to), bytes(of));
                break;
            case cause::sync:
                result = fmt::format("{} of {} were synchronized", bytes(of), name(of.to));
                break;
            case cause::prefetch:
                result = fmt::format("{} were fetched ahead to {}", bytes(of), name(of.to));
                break;
            case cause::eviction:
                result = fmt::format("{} were brought to {} to make room", bytes(of), name(of.to));
                break;
            default:
                result = fmt::format("{} was to {} {}", name(of.to), verb, bytes(of));
        }
        return result + (of.bytes == 0 ? ", and lacked nothing" : fmt::format(", and lacked {} bytes", of.bytes));
    }

    std::string what(const event& of) const {
        switch (of.kind) {
            case event_kind::access:
                return accessed(of);
            case event_kind::transfer: {
                std::string result = fmt::format("{} went from {} to {}{}: {}", moved(of), name(of.from), name(of.to),
                                                 detour(of.route), bytes(of));
                if (const event* const by = writers_.at(of.begin)) {
                    result += fmt::format("; the first of them was written last at {}", name(by->to));
                    if (by->site != 0) result += " in " + site(by->site);
                }
                return result + became(fates_.at(&of));
            }
            case event_kind::fill:
                return fmt::format("{} were filled at {}", bytes(of), name(of.to));
            case event_kind::mark:
                return fmt::format("{} at {} were said to be the newest", bytes(of), name(of.to));
            case event_kind::found:
                return fmt::format("{} had been written at the host through a pointer", bytes(of));
            case event_kind::assumed:
                return fmt::format("{} may have been written at the host {}", bytes(of),
                                   of.by_others ? "by another process" : "through a pointer");
            case event_kind::discard:
                return fmt::format("the content of {} was discarded", bytes(of));
            case event_kind::allocation:
                if (of.from != of.to) {
                    return fmt::format("a copy was made at {}, in the memory of {}", name(of.to), name(of.from));
                }
                return fmt::format("a copy of {} bytes was made at {}{}", of.bytes, name(of.to),
                                   of.is_pooled ? ", for a pool" : "");
            case event_kind::release:
                return fmt::format("the copy at {} was freed", name(of.to));
            case event_kind::eviction:
                return fmt::format("the copy at {} went because others needed the memory", name(of.to));
            case event_kind::wait:
                return fmt::format("{} waited {:.1f} us for others to end their use of {}", name(of.to),
                                   static_cast<double>(of.took) / 1e3, bytes(of));
            case event_kind::lease_end:
                return fmt::format("a lease of {} at {} ended after {:.1f} us", bytes(of), name(of.to),
                                   static_cast<double>(of.took) / 1e3);
            case event_kind::none:
            case event_kind::text:
                break;
        }
        return {};
    }

    /// Returns what there is to say of bytes that nobody used, and of those that came back.
    static std::string became(const transfer_fate& of) {
        std::string result;
        if (of.overwritten != 0) result += fmt::format("; {} were overwritten there unused", of.overwritten);
        if (of.unread != 0) result += fmt::format("; {} were not used there", of.unread);
        if (of.evicted != 0) result += fmt::format("; {} had been evicted there", of.evicted);
        if (of.is_back) result += "; none had changed";
        return result;
    }

    const trace_file& names_;
    std::uint64_t begin_;
    std::map<const event*, transfer_fate> fates_;
    trace::byte_map<const event*> writers_;  // who wrote each byte last; null where nobody is known
};

}  // namespace

std::string trace::sentence_of(const event& of) { return story(trace_file{}, {&of, 1}).sentence(of); }

std::vector<std::string> why(std::span<const event> events, std::uint64_t buffer, const trace_file& names) {
    std::vector<event> its;
    std::ranges::copy_if(events, std::back_inserter(its), [&](const event& each) { return each.buffer == buffer; });
    std::vector<std::string> result;
    if (its.empty()) return result;
    story told(names, its);
    for (const event& each : its) {
        result.push_back(told.tell(each));
        told.remember(each);
    }
    return result;
}

}  // namespace unibuf
