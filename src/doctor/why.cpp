// doctor/why.cpp: tells the story of a buffer: what happened, who wrote what was moved, and what became of it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include "doctor/byte_map.hpp"
#include "doctor/rows.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace {

class story {
public:
    story(const trace_file& names, std::span<const event> events) : names_(names), begin_(events.front().time) {
        for (transfer_fate& each : fates_of(events)) fates_[&events[each.transfer]] = each;
    }

    std::string tell(const event& of) const {
        std::string result = fmt::format("{:.6f} s, thread {}: {}", static_cast<double>(of.time - begin_) / 1e9,
                                         of.thread, describe(of, names_));
        if (of.kind == event_kind::transfer) result += written(of) + became(fates_.at(&of));
        return result;
    }

    void remember(const event& of) {
        if (!is_write(of)) return;
        doctor::for_each_row(of, [&](std::uint64_t begin, std::uint64_t end) {
            writers_.change(begin, end, [&](const event*& by, std::uint64_t) { by = &of; });
        });
    }

private:
    std::string written(const event& moved) const {
        const event* const by = writers_.at(moved.begin);
        if (!by) return {};
        const std::string where = by->site == 0 ? "" : " in " + names_.site_name(by->site);
        return fmt::format("; the first of them was written last at {}{}", names_.space_name(by->to), where);
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
    doctor::byte_map<const event*> writers_;  // who wrote each byte last; null where nobody is known
};

}  // namespace

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
