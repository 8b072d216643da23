// trace/diagnose.cpp: what a program does that costs it time or traffic, from the events of a trace.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "trace/rows.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace trace {
namespace {

// What is smaller, or more seldom, is no fault.
constexpr std::uint64_t worth_telling_once = 64 << 10;  // bytes
constexpr std::uint64_t few = 8;                        // one of so many bytes
constexpr std::uint64_t small_transfer = 64 << 10;
constexpr std::size_t many_transfers = 16;
constexpr std::size_t many_buffers = 8;
constexpr std::size_t some_round_trips = 3;
constexpr std::uint64_t worth_pinning = 1 << 20;  // bytes in all
constexpr std::uint64_t long_wait = 1'000'000;    // ns in all

/// A transfer, until some fault explains it.
struct candidate {
    transfer_fate what;
    const event* made = nullptr;
    const event* writer = nullptr;  // null where nobody is known
    bool is_explained = false;
};

/// The events of one buffer of one process.
struct buffer_events {
    std::vector<const event*> events;
    std::vector<candidate*> transfers;
};

std::string ns_text(std::uint64_t ns) {
    if (ns < 1'000'000) return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
    if (ns < 1'000'000'000) return fmt::format("{:.1f} ms", static_cast<double>(ns) / 1e6);
    return fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9);
}

/// What is seen of one fault at one place.
struct seen_fault {
    finding told;
    std::uint64_t whole = 0;  // bytes of what was moved in all
    const event* first = nullptr;
    std::vector<std::uint64_t> buffers;
};

class diagnosis {
public:
    diagnosis(std::span<const event> events, const trace_file& names) : events_(events), names_(names) {
        for (const event& each : events) {
            buffer_events& of = buffers_[{each.process, each.buffer}];
            of.events.push_back(&each);
        }
        for (const transfer_fate& each : fates_of(events)) {
            const event* const writer = each.writer ? &events[*each.writer] : nullptr;
            transfers_.push_back({each, &events[each.transfer], writer});
        }
        for (candidate& each : transfers_) {
            buffers_.at({each.made->process, each.made->buffer}).transfers.push_back(&each);
        }
    }

    std::vector<finding> make() {
        find_false_news();
        find_thrash();
        find_unused();
        find_few_news();
        find_ping_pong();
        find_many_small();
        find_pageable();
        find_churn();
        find_long_leases();
        std::vector<finding> result;
        for (auto& [key, seen] : seen_) {
            if (is_worth_telling(seen.told)) result.push_back(tell(seen));
        }
        std::ranges::sort(result, std::ranges::greater{},
                          [](const finding& each) { return std::tuple(each.took, each.bytes, each.kind, each.site); });
        return result;
    }

private:
    /// Calls act(candidate) for each transfer that nothing explains yet.
    template <class Act>
    void for_each_open(const Act& act) {
        for (candidate& each : transfers_) {
            if (!each.is_explained) act(each);
        }
    }

    seen_fault& at(fault kind, std::uint64_t site, const event& first) {
        seen_fault& seen = seen_[{kind, site}];
        if (!seen.first) {
            seen.first = &first;
            seen.told.kind = kind;
            seen.told.site = site;
            seen.told.buffer = first.buffer;
        }
        return seen;
    }

    /// Says that some bytes of a transfer, and as much of its time, could be spared at a place.
    void explain(candidate& of, fault kind, std::uint64_t site, std::uint64_t bytes) {
        const event& made = *of.made;
        seen_fault& seen = at(kind, site, made);
        ++seen.told.times;
        seen.told.bytes += bytes;
        seen.told.took += made.took * bytes / std::max<std::uint64_t>(made.bytes, 1);
        seen.whole += made.bytes;
        of.is_explained = true;
    }

    static bool is_declared(const event* writer) {
        return writer && ((writer->kind == event_kind::access && writer->what == access::read_write) ||
                          writer->kind == event_kind::mark || writer->kind == event_kind::assumed);
    }

    /// Finds what came back as it had gone, because somebody has said that it was written.
    void find_false_news() {
        for_each_open([&](candidate& each) {
            const event* const writer = each.writer;
            if (!each.what.is_back || !is_declared(writer)) return;
            const fault kind = writer->kind == event_kind::mark ? fault::mark_without_write : fault::round_trip;
            explain(each, kind, writer->site, each.made->bytes);
        });
    }

    void find_thrash() {
        for_each_open([&](candidate& each) {
            if (each.what.evicted * 2 > each.made->bytes) {
                explain(each, fault::thrash, each.made->site, each.what.evicted);
            }
        });
    }

    /// Finds what was brought and not used, or not as a whole.
    void find_unused() {
        for_each_open([&](candidate& each) {
            const transfer_fate& what = each.what;
            const event& made = *each.made;
            if (made.why == cause::eviction) return;
            const std::uint64_t wasted = what.overwritten + what.unread;
            if (what.used != 0 && what.used * few <= made.bytes) {
                explain(each, fault::whole_for_part, made.site, wasted);
            } else if (what.overwritten * 2 >= made.bytes) {
                explain(each, fault::overwritten_fetch, made.site, what.overwritten);
            } else if (wasted * 2 >= made.bytes) {
                explain(each, fault::unread_copy, made.site, wasted);
            }
        });
    }

    /// Finds where a whole part was said to be written, of which little was.
    void find_few_news() {
        for_each_open([&](candidate& each) {
            const event& made = *each.made;
            const std::optional<std::uint64_t> news = news_of(made);
            if (!news || !is_declared(each.writer)) return;
            if (*news != 0 && *news * few <= made.bytes) {
                explain(each, fault::whole_for_part, each.writer->site, made.bytes - *news);
            }
        });
    }

    /// Finds what goes to and fro, as what comes is changed at both ends.
    void find_ping_pong() {
        for (auto& [key, of] : buffers_) {
            std::uint64_t size = 0;
            for (const event* const each : of.events) size = std::max(size, each->end);
            std::map<std::pair<std::uint8_t, std::uint8_t>, std::vector<candidate*>> between;
            for (candidate* const each : of.transfers) {
                const event& made = *each->made;
                if (each->is_explained || made.bytes * 2 < size || !each->what.answers) continue;
                if (transfers_[*each->what.answers].is_explained) continue;
                if (!is_declared(each->writer) && each->writer->kind != event_kind::found) continue;
                between[std::minmax(made.from, made.to)].push_back(each);
            }
            for (const auto& [spaces, answers] : between) {
                // What goes one way made from what came, and comes back made from something new, is a stream.
                const auto up = static_cast<std::size_t>(std::ranges::count_if(
                    answers, [](const candidate* each) { return each->made->to > each->made->from; }));
                if (std::min(up, answers.size() - up) + 1 < some_round_trips) continue;
                for (candidate* const there : answers) {
                    candidate& back = transfers_[*there->what.answers];
                    // The line to change is the one that brings the bytes to the host, or else to the lower space.
                    const event& down = there->made->to < there->made->from ? *there->made : *back.made;
                    for (candidate* const each : {&back, there}) {
                        if (!each->is_explained) explain(*each, fault::ping_pong, down.site, each->made->bytes);
                    }
                }
            }
        }
    }

    /// Finds accesses of one line, one after the other, that bring little each, and not what they brought before.
    void find_many_small() {
        struct run {
            std::vector<const event*> all;
            std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint64_t>> parts;
        };
        std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint8_t>, run> runs;
        const auto end = [&](run& of) {
            if (of.all.size() >= many_transfers) {
                seen_fault& seen = at(fault::many_small, of.all.front()->site, *of.all.front());
                std::uint64_t shortest = of.all.front()->took;
                for (const event* const each : of.all) {
                    shortest = std::min(shortest, each->took);
                    seen.whole += each->bytes;
                    seen.buffers.push_back(each->buffer);
                }
                seen.told.times += of.all.size();
                seen.told.took += shortest * (of.all.size() - 1);
            }
            of = {};
        };
        for (const event& each : events_) {
            if (each.kind != event_kind::access || each.bytes == 0) continue;
            run& of = runs[{each.process, each.thread, each.site, each.to}];
            const bool follows =
                of.all.empty() || each.time - each.took >= of.all.back()->time;  // else one call made both
            const bool is_small = each.bytes <= small_transfer && each.why != cause::eviction && each.site != 0;
            if (!is_small || !follows || of.parts.contains({each.process, each.buffer, each.begin})) end(of);
            if (!is_small || !follows) continue;
            of.parts.insert({each.process, each.buffer, each.begin});
            of.all.push_back(&each);
        }
        for (auto& [key, of] : runs) end(of);
    }

    void find_pageable() {
        std::map<std::uint64_t, std::uint64_t> bytes_of;
        // The best rate of all transfers of some size is what pinned memory may reach.
        double best = 0;
        for_each_open([&](const candidate& each) {
            const event& made = *each.made;
            if (made.route == transfer_route::staged) bytes_of[made.site] += made.bytes;
            const bool counts = made.bytes >= small_transfer && made.took != 0;
            if (counts) best = std::max(best, static_cast<double>(made.bytes) / static_cast<double>(made.took));
        });
        for_each_open([&](candidate& each) {
            const event& made = *each.made;
            if (made.route != transfer_route::staged || bytes_of[made.site] < worth_pinning) return;
            explain(each, fault::pageable, made.site, made.bytes);
            seen_fault& seen = at(fault::pageable, made.site, made);
            seen.told.took -= made.took;
            const auto least =
                best == 0 ? made.took : static_cast<std::uint64_t>(static_cast<double>(made.bytes) / best);
            seen.told.took += made.took - std::min(made.took, least);
        });
    }

    /// Finds places that make copies for one buffer after the other, of which hardly two live at a time.
    void find_churn() {
        struct place {
            std::vector<const event*> made;
            std::set<std::uint64_t> alive;
            std::size_t most = 0;
        };
        std::map<std::tuple<std::uint32_t, std::uint64_t, std::uint8_t, std::uint64_t>, place> places;
        for (const auto& [key, of] : buffers_) {
            std::map<std::uint8_t, place*> made_by;
            for (const event* const each : of.events) {
                if (each->kind == event_kind::allocation && each->bytes != 0) {
                    places[{each->process, each->site, each->to, each->bytes}].made.push_back(each);
                }
            }
        }
        for (auto& [key, of] : places) {
            if (of.made.size() < many_buffers) continue;
            std::vector<std::pair<std::uint64_t, int>> changes;  // when one more lived, or one less
            std::size_t gone = 0;
            for (const event* const each : of.made) {
                changes.emplace_back(each->time, 1);
                const auto& its = buffers_.at({each->process, each->buffer}).events;
                const auto end = std::ranges::find_if(its, [&](const event* other) {
                    return other->kind == event_kind::release && other->to == each->to && other->time >= each->time;
                });
                if (end == its.end()) continue;
                changes.emplace_back((*end)->time, -1);
                ++gone;
            }
            std::ranges::sort(changes);
            int alive = 0, most = 0;
            for (const auto& [time, change] : changes) most = std::max(most, alive += change);
            const bool is_evicted = std::ranges::any_of(of.made, [&](const event* each) {
                return std::ranges::any_of(buffers_.at({each->process, each->buffer}).events,
                                           [](const event* other) { return other->kind == event_kind::eviction; });
            });
            if (most > 2 || gone + 1 < of.made.size() || is_evicted) continue;
            seen_fault& seen = at(fault::churn, of.made.front()->site, *of.made.front());
            seen.told.times += of.made.size();
            for (const event* const each : of.made) {
                seen.told.bytes += each->bytes;
                seen.told.took += each->took;
            }
        }
    }

    /// Returns the lease that ended last of those that a wait was for; null where that is not known.
    static const event* awaited_by(const buffer_events& of, const event& wait) {
        const event* result = nullptr;
        const std::uint64_t begin = wait.time - wait.took;
        for (const event* const each : of.events) {
            if (each->time > wait.time) break;
            const bool ended_then = each->kind == event_kind::lease_end && each->time >= begin;
            const bool excludes = each->what != access::read || wait.what != access::read;
            if (!ended_then || !excludes || each->thread == wait.thread) continue;
            if (each->begin < wait.end && wait.begin < each->end) result = each;
        }
        return result;
    }

    /// Returns the access that began a lease.
    static const event* begin_of(const buffer_events& of, const event& end) {
        const event* result = nullptr;
        for (const event* const each : of.events) {
            if (each->time > end.time - end.took) break;
            const bool same = each->kind == event_kind::access && each->to == end.to && each->what == end.what &&
                              each->begin == end.begin && each->end == end.end;
            if (same) result = each;
        }
        return result;
    }

    void find_long_leases() {
        for (const auto& [key, of] : buffers_) {
            for (const event* const each : of.events) {
                if (each->kind != event_kind::wait) continue;
                const event* const end = awaited_by(of, *each);
                const event* const begin = end ? begin_of(of, *end) : nullptr;
                if (!begin) continue;
                seen_fault& seen = at(fault::long_lease, begin->site, *begin);
                ++seen.told.times;
                seen.told.took += each->took;
                seen.whole = std::max(seen.whole, end->took);
            }
        }
    }

    static bool is_worth_telling(const finding& of) {
        switch (of.kind) {
            case fault::long_lease:
                return of.took >= long_wait;
            case fault::pageable:
            case fault::churn:
            case fault::many_small:
            case fault::ping_pong:
                return true;
            default:
                return of.times > 1 || of.bytes >= worth_telling_once;
        }
    }

    std::string name(std::uint8_t space) const { return names_.space_name(space); }

    /// Returns "12 times", or "once".
    static std::string times(std::uint64_t number) { return number == 1 ? "once" : fmt::format("{} times", number); }

    /// Returns a finding with its sentences.
    finding tell(const seen_fault& of) const {
        finding result = of.told;
        const event& first = *of.first;
        const std::string from = name(first.from), to = name(first.to), often = times(result.times);
        const std::uint64_t bytes = result.bytes;
        switch (result.kind) {
            case fault::round_trip:
                result.evidence = fmt::format(
                    "{} a lease for writing ended, and {} bytes went from {} to {}, where they had come "
                    "from: not one had changed",
                    often, bytes, from, to);
                result.change = "take `read` here, or write less";
                break;
            case fault::mark_without_write:
                result.evidence =
                    fmt::format("{} bytes were said to be new, and {} went from {} to {}: not one had changed", often,
                                bytes, from, to);
                result.change = "mark what was written alone";
                break;
            case fault::overwritten_fetch:
                result.evidence = fmt::format(
                    "{} {} bytes were brought from {} to {}, and overwritten there before "
                    "anybody used them",
                    often, bytes, from, to);
                result.change = "leave this out: who takes `write` needs nothing to be brought";
                break;
            case fault::unread_copy:
                result.evidence = fmt::format("{} {} bytes were brought from {} to {}, and nobody used them there",
                                              often, bytes, from, to);
                result.change = "leave this out, or bring the bytes when they are used";
                break;
            case fault::ping_pong:
                result.evidence =
                    fmt::format("{} bytes went to and fro between {} and {}, {} in all, written at both ends", bytes,
                                from, to, often);
                result.change = fmt::format(
                    "do this step where the others are done; where it does not need what comes, take "
                    "`write` here");
                break;
            case fault::whole_for_part:
                result.evidence = fmt::format("{} {} bytes went from {} to {}, of which {} were used, or had changed",
                                              often, of.whole, from, to, of.whole - bytes);
                result.change = "name the part that is used: an offset and a count, or a view";
                break;
            case fault::many_small:
                result.evidence = fmt::format("{} accesses, one after the other, brought {} bytes to {}: {} each",
                                              result.times, of.whole, to, of.whole / result.times);
                result.change = is_of_one(of.buffers) ? "take all in one access: a rectangle, or the whole range"
                                                      : "take all in one batch";
                break;
            case fault::churn:
                result.evidence =
                    fmt::format("{} buffers were made and destroyed, one after the other, with {} bytes each at {}",
                                result.times, bytes / result.times, to);
                result.change = "make it once, or take it from a pool";
                break;
            case fault::pageable:
                result.evidence = fmt::format("{} {} bytes went between {} and {} by way of unibuf's own pinned memory",
                                              often, bytes, from, to);
                result.change = "make the buffer `pinned`";
                break;
            case fault::thrash:
                result.evidence =
                    fmt::format("{} bytes were evicted at {}, and brought there again as they had been: {} bytes",
                                often, to, bytes);
                result.change = "use less memory at a time there, or finish with one buffer before the next";
                break;
            case fault::long_lease:
                result.evidence =
                    fmt::format("{} others waited for a lease at {} to end, {} in all; it was held for up to {}", often,
                                to, ns_text(result.took), ns_text(of.whole));
                result.change = "end the lease sooner, or lease the part that is used";
                break;
        }
        return result;
    }

    static bool is_of_one(const std::vector<std::uint64_t>& buffers) {
        return std::ranges::all_of(buffers, [&](std::uint64_t each) { return each == buffers.front(); });
    }

    std::span<const event> events_;
    const trace_file& names_;
    std::vector<candidate> transfers_;  // as many, and in the order, as the fates are
    std::map<std::pair<std::uint32_t, std::uint64_t>, buffer_events> buffers_;  // by process and buffer
    std::map<std::pair<fault, std::uint64_t>, seen_fault> seen_;                // by kind and place
};

}  // namespace
}  // namespace trace

std::vector<finding> diagnose(std::span<const event> events, const trace_file& names) {
    return trace::diagnosis(events, names).make();
}

}  // namespace unibuf
