// doctor/diagnose.cpp: what a program does that costs it time or traffic, from the events of a trace.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "doctor/leases.hpp"
#include "doctor/row_of_transfers.hpp"
#include "doctor/seen_fault.hpp"
#include "unibuf/trace.hpp"

namespace unibuf {
namespace doctor {
namespace {

// What is smaller, or more seldom, is no fault.
constexpr std::uint64_t worth_telling = 64 << 10;      // bytes in all,
constexpr std::uint64_t worth_telling_ns = 1'000'000;  // or so much time
constexpr std::uint64_t mostly = 10;                   // what a line does but for one time of so many
constexpr std::uint64_t few = 8;                       // one of so many bytes
constexpr std::uint64_t small_transfer = 64 << 10;
constexpr std::size_t many_transfers = 16;
constexpr std::size_t many_buffers = 8;
constexpr std::size_t some_round_trips = 3;
constexpr std::uint64_t worth_pinning = 1 << 20;  // bytes in all
constexpr std::uint64_t long_lease = 1'000'000;   // ns

/// The events of one buffer of one process.
struct buffer_events {
    std::vector<const event*> events;
    std::vector<candidate*> transfers;
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
        find_untracked();
        find_no_news();
        find_filled();
        find_thrash();
        find_unused();
        find_ping_pong();
        find_many_small();
        find_pageable();
        find_churn();
        find_lost();
        find_long_leases();
        std::vector<finding> result;
        for (auto& [key, seen] : seen_) {
            if (is_worth_telling(seen)) result.push_back(with_sentences(seen, names_));
        }
        // What the machine lacks comes first: it is mended at once, and for all lines.
        std::ranges::sort(result, std::ranges::greater{}, [](const finding& each) {
            return std::tuple(each.kind == fault::untracked_writes, each.took, each.bytes, each.kind, each.site);
        });
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

    seen_fault& at(fault kind, std::uint64_t site, const event& first, bool is_by_news = false) {
        seen_fault& seen = seen_[{kind, site, is_by_news}];
        if (!seen.first) {
            seen.first = &first;
            seen.so_far.kind = kind;
            seen.so_far.site = site;
            seen.so_far.buffer = first.buffer;
            seen.is_by_news = is_by_news;
        }
        return seen;
    }

    /// Says that some bytes of a transfer, and as much of its time, could be spared at a place.
    void explain(candidate& of, fault kind, std::uint64_t site, std::uint64_t bytes, bool is_by_news = false) {
        const event& made = *of.made;
        if (made.bytes == 0) return explain(at(kind, site, made, is_by_news), of, bytes, 0);
        const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(made.bytes));
        explain(at(kind, site, made, is_by_news), of, bytes,
                static_cast<std::uint64_t>(static_cast<double>(made.took) * share));
    }

    static void explain(seen_fault& seen, candidate& of, std::uint64_t bytes, std::uint64_t took) {
        ++seen.so_far.times;
        seen.so_far.bytes += bytes;
        seen.so_far.took += took;
        seen.whole += of.made->bytes;
        of.is_explained = true;
    }

    /// Returns whether the program has said that it writes what is there: by a lease, or a mark. A device that a buffer
    /// is bound to has to say so in any case.
    static bool is_declared(const event* writer) {
        if (!writer) return false;
        const bool by_lease = writer->kind == event_kind::access && writer->what == access::read_write &&
                              writer->why == cause::read_write;
        return by_lease || writer->kind == event_kind::mark || writer->kind == event_kind::assumed;
    }

    /// Finds what was moved as nobody could tell whether it was written. It has one cause, so it is one fault, at the
    /// line that most was moved for.
    void find_untracked() {
        std::map<std::uint64_t, std::uint64_t> bytes_at;
        const auto spared = [](const candidate& of) -> std::uint64_t {
            const std::optional<std::uint64_t> news = news_of(*of.made);
            return news && of.writer && of.writer->untracked ? of.made->bytes - *news : 0;
        };
        for_each_open([&](const candidate& each) { bytes_at[each.made->site] += spared(each); });
        if (bytes_at.empty()) return;
        const auto most = [](const auto& left, const auto& right) { return left.second < right.second; };
        const std::uint64_t site = std::ranges::max_element(bytes_at, most)->first;
        for_each_open([&](candidate& each) {
            if (spared(each) != 0) explain(each, fault::untracked_writes, site, spared(each));
        });
    }

    /// Finds what was said to be written, of which nothing had changed, or little. A line that does so now and then
    /// does no more than its program needs; once it may have to.
    void find_no_news() {
        struct written {
            std::vector<candidate*> unchanged;
            std::vector<candidate*> hardly_changed;
            std::uint64_t all = 0;
        };
        std::map<std::pair<std::uint64_t, event_kind>, written> by_line;
        for_each_open([&](candidate& each) {
            const std::optional<std::uint64_t> news = news_of(*each.made);
            if (!news || !is_declared(each.writer)) return;
            written& of = by_line[{each.writer->site, each.writer->kind}];
            ++of.all;
            if (each.what.is_back) of.unchanged.push_back(&each);
            if (*news != 0 && *news * few <= each.made->bytes) of.hardly_changed.push_back(&each);
        });
        for (const auto& [line, of] : by_line) {
            const fault kind = line.second == event_kind::mark ? fault::mark_without_write : fault::round_trip;
            const std::uint64_t needed = of.all - of.unchanged.size() - of.hardly_changed.size();
            if (needed > std::max<std::uint64_t>(of.all / mostly, 1)) continue;
            if (of.unchanged.size() > 1) {
                for (candidate* const each : of.unchanged) explain(*each, kind, line.first, each->made->bytes);
                at(kind, line.first, *of.unchanged.front()->made).of += of.all;
            }
            if (of.hardly_changed.size() > 1) {
                for (candidate* const each : of.hardly_changed) {
                    explain(*each, fault::whole_for_part, line.first,
                            each->made->bytes - news_of(*each->made).value_or(0), true);
                }
            }
        }
    }

    void find_filled() {
        for_each_open([&](candidate& each) {
            const event* const by = each.writer;
            const event& made = *each.made;
            if (!by || by->kind != event_kind::fill || made.from != host.id()) return;
            if (by->begin <= made.begin && made.end <= by->end) {
                explain(each, fault::filled_at_host, by->site, made.bytes);
            }
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

    /// Finds what goes to and fro, as what comes is changed at both ends.
    void find_ping_pong() {
        for (auto& [key, of] : buffers_) {
            std::uint64_t size = 0;
            for (const event* const each : of.events) size = std::max(size, each->end);
            std::map<std::pair<std::uint8_t, std::uint8_t>, std::vector<std::pair<candidate*, candidate*>>>
                between;  // what came, and what goes
            for (candidate* const each : of.transfers) {
                const event& made = *each->made;
                if (each->is_explained || made.bytes * 2 < size || !each->what.answers) continue;
                candidate& answered = transfers_[*each->what.answers];
                if (answered.is_explained) continue;
                if (!is_declared(each->writer) && each->writer->kind != event_kind::found) continue;
                between[std::minmax(made.from, made.to)].emplace_back(&answered, each);
            }
            for (const auto& [spaces, answers] : between) {
                // What goes one way made from what came, and comes back made from something new, is a stream.
                const auto up = static_cast<std::size_t>(std::ranges::count_if(
                    answers, [](const auto& each) { return each.second->made->to > each.second->made->from; }));
                if (std::min(up, answers.size() - up) + 1 < some_round_trips) continue;
                for (const auto& [came, goes] : answers) {
                    // The line to change is the one that brings the bytes to the host, or else to the lower space.
                    const event& down = goes->made->to < goes->made->from ? *goes->made : *came->made;
                    for (candidate* const each : {came, goes}) {
                        if (!each->is_explained) explain(*each, fault::ping_pong, down.site, each->made->bytes);
                    }
                }
            }
        }
    }

    void find_many_small() {
        std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint8_t>, row_of_transfers> rows;
        const auto end = [&](row_of_transfers& of) {
            if (of.all.size() >= many_transfers) {
                const event& first = *of.all.front()->made;
                seen_fault& seen = at(fault::many_small, first.site, first);
                std::uint64_t shortest = first.took;
                for (candidate* const each : of.all) {
                    shortest = std::min(shortest, each->made->took);
                    seen.whole += each->made->bytes;
                    each->is_explained = true;
                }
                seen.is_of_one = of.buffers.size() == 1;
                seen.so_far.times += of.all.size();
                seen.so_far.took += shortest * (of.all.size() - 1);
            }
            of = {};
        };
        for_each_open([&](candidate& each) {
            const event& made = *each.made;
            if (made.site == 0) return;
            row_of_transfers& of = rows[{made.process, made.thread, made.site, made.to}];
            const std::uint64_t written = each.writer ? each.writer->time : 0;
            if (!of.all.empty() && !of.is_continued_by(made, written)) end(of);
            if (made.bytes > small_transfer || made.why == cause::eviction || made.is_batched) return;
            of.all.push_back(&each);
            of.buffers.insert({made.process, made.buffer});
        });
        for (auto& [key, of] : rows) end(of);
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
            const auto took = static_cast<double>(made.took);
            const double least = best == 0 ? took : std::min(took, static_cast<double>(made.bytes) / best);
            explain(at(fault::pageable, made.site, made), each, made.bytes, static_cast<std::uint64_t>(took - least));
        });
    }

    /// What became of a buffer that got copies.
    struct life {
        const event* begin = nullptr;  // its first copy
        std::uint64_t bytes = 0;
        std::uint64_t took = 0;
        std::uint64_t last_use = 0;
        std::uint64_t end = 0;  // 0 where it has not ended
        bool was_evicted = false;
    };

    /// Returns the lives of buffers, by process and the line that made their first copies.
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<life>> lives_by_line() const {
        std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<life>> lines;
        for (const auto& [key, of] : buffers_) {
            life its;
            for (const event* const each : of.events) {
                its.was_evicted |= each->kind == event_kind::eviction;
                its.last_use = each->time;
                if (each->kind == event_kind::release) its.end = each->time;
                if (each->kind != event_kind::allocation || each->bytes == 0) continue;
                if (!its.begin) its.begin = each;
                its.bytes += each->bytes;
                its.took += each->took;
            }
            if (its.begin) lines[{key.first, its.begin->site}].push_back(its);
        }
        return lines;
    }

    /// Finds lines at which one buffer after the other gets its copies, of which hardly two live at a time.
    void find_churn() {
        for (auto& [line, lives] : lives_by_line()) {
            std::vector<std::pair<std::uint64_t, int>> changes;  // when one more lived, or one less
            std::erase_if(lives, [](const life& each) { return each.end == 0 || each.was_evicted; });
            for (const life& each : lives) {
                changes.emplace_back(each.begin->time, 1);
                changes.emplace_back(each.end, -1);
            }
            std::ranges::sort(changes);
            int alive = 0, most = 0;
            for (const auto& [time, change] : changes) most = std::max(most, alive += change);
            if (lives.size() < many_buffers || most > 2) continue;
            tell_of(fault::churn, line.second, lives);
        }
    }

    /// Finds lines at which one buffer after the other gets its copies, none of which is used when the next one is
    /// there, and none of which ends: nobody has a handle of them any more, as where the only one was assigned anew.
    void find_lost() {
        for (auto& [line, lives] : lives_by_line()) {
            std::ranges::sort(lives, {}, [](const life& each) { return each.begin->time; });
            std::vector<life> lost;
            for (auto each = lives.begin(); each != lives.end(); ++each) {
                const auto next = std::next(each);
                const bool is_used_later = next != lives.end() && each->last_use > next->begin->time;
                if (each->end == 0 && !each->begin->is_pooled && !is_used_later) lost.push_back(*each);
            }
            if (lost.size() >= many_buffers) tell_of(fault::lost, line.second, lost);
        }
    }

    void tell_of(fault kind, std::uint64_t site, std::span<const life> lives) {
        seen_fault& seen = at(kind, site, *lives.front().begin);
        seen.so_far.times += lives.size();
        for (const life& each : lives) {
            seen.so_far.bytes += each.bytes;
            seen.so_far.took += each.took;
        }
    }

    void find_long_leases() {
        const auto is_wait = [](const event* each) { return each->kind == event_kind::wait; };
        for (const auto& [key, of] : buffers_) {
            if (std::ranges::none_of(of.events, is_wait)) continue;
            const leases all(of.events);
            for (const event* const each : of.events) {
                if (!is_wait(each)) continue;
                const event* const end = all.awaited_by(*each);
                const event* const begin = end ? all.begin_of(*end) : nullptr;
                if (!begin || end->took < long_lease) continue;
                seen_fault& seen = at(fault::long_lease, begin->site, *begin);
                ++seen.so_far.times;
                seen.so_far.took += each->took;
                seen.whole = std::max(seen.whole, end->took);
            }
        }
    }

    static bool is_worth_telling(const seen_fault& of) {
        const std::uint64_t bytes = of.so_far.kind == fault::many_small ? of.whole : of.so_far.bytes;
        return bytes >= worth_telling || of.so_far.took >= worth_telling_ns;
    }

    std::span<const event> events_;
    const trace_file& names_;
    std::vector<candidate> transfers_;  // as many, and in the order, as the fates are
    std::map<std::pair<std::uint32_t, std::uint64_t>, buffer_events> buffers_;  // by process and buffer
    std::map<std::tuple<fault, std::uint64_t, bool>, seen_fault> seen_;  // by kind, place and seen_fault::is_by_news
};

}  // namespace
}  // namespace doctor

std::vector<finding> diagnose(std::span<const event> events, const trace_file& names) {
    return doctor::diagnosis(events, names).make();
}

}  // namespace unibuf
