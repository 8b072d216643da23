// tests/unit/coherence_model_test.cpp: every state that three spaces and three ranges can reach, or, where pointers to
// the host's copy are out, three spaces and two ranges, under every operation.
//
// The directory claims which spaces see the newest content. Against it stands a world that is as bad as it may be: what
// the directory does not claim is stale, and of a shared memory nobody holds more than the directory implies. Steps act
// on that world as a backend would; afterwards every claim must be true in it. As the claims are all that is assumed,
// checking each operation once from each reachable directory covers every history.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <iostream>
#include <string>
#include <vector>

#include "coherence/plan.hpp"
#include "coherence/state.hpp"

namespace unibuf::coherence {
namespace {

constexpr std::size_t most_ranges = 3;  // of one byte each
constexpr space_id spaces = 3;          // the host and two devices
constexpr space_set all_spaces = (1 << spaces) - 1;
constexpr std::size_t bits = 8;  // that tell what is known of one range
constexpr std::size_t possible_states = std::size_t{1} << (bits * most_ranges);

std::uint32_t key_of(const knowledge& known) {
    return known.current | static_cast<std::uint32_t>(known.what) << 3 | static_cast<std::uint32_t>(known.out) << 5 |
           std::uint32_t{known.contested} << 7;
}

std::uint32_t key_of(const directory& known) {
    std::uint32_t key = 0;
    known.for_each(known.whole(), [&](byte_range range, const knowledge& k) {
        for (std::size_t i = range.begin; i < range.end; ++i) key |= key_of(k) << (bits * i);
    });
    return key;
}

directory directory_of(std::uint32_t key, std::size_t ranges) {
    directory result(ranges);
    for (std::size_t i = 0; i < ranges; ++i) {
        const std::uint32_t part = key >> (bits * i) & 255;
        result.update({i, i + 1}, [&](knowledge& k) {
            k = {.current = part & 7,
                 .what = static_cast<content>(part >> 3 & 3),
                 .out = static_cast<pointers>(part >> 5 & 3),
                 .contested = (part >> 7 & 1) != 0};
        });
    }
    return result;
}

/// What is really in the memories, byte by byte.
class world {
public:
    world(const directory& known, const sharing& memories) : memories_(memories) {
        known.for_each(known.whole(), [&](byte_range range, const knowledge& k) {
            for (std::size_t i = range.begin; i < range.end; ++i) {
                fresh_[i] = k.current;
                unwritten_[i] = k.what == content::unwritten;
                for (space_id s = 0; s < spaces; ++s) {
                    const space_set holders = k.current & group(s);
                    visible_[i][memories.hub(s)] = holders;
                }
            }
        });
    }

    /// Of each shared memory nobody is current in, `holder` is the one that had it last.
    void assume_last_holder(space_id holder) {
        for (auto& byte : visible_) {
            space_set& seen_by = byte[memories_.hub(holder)];
            if (seen_by == 0) seen_by = set_of(holder);
        }
    }

    /// Empty, or what is wrong with the step.
    std::string act(const step& step) {
        for (std::size_t i = step.range.begin; i < step.range.end; ++i) {
            switch (step.does) {
                case step::kind::wait:
                    break;
                case step::kind::zero:
                    if (!unwritten_[i]) return "zeroed what was written";
                    if (has(fresh_[i], step.to)) return "zeroed what was current";
                    if (!may_write(i, step.to)) return "zeroed memory that another space holds";
                    fresh_[i] |= set_of(step.to);
                    break;
                case step::kind::move:
                    if (has(fresh_[i], step.to)) return "moved what was current";
                    if (!has(fresh_[i], step.from)) return "moved stale bytes";
                    if (group(step.from) == group(step.to)) return "moved within one memory";
                    if (!may_read(i, step.from)) return "moved from memory that another space holds";
                    if (!may_write(i, step.to)) return "moved into memory that another space holds";
                    if (moved_[i]++) return "moved a byte twice";
                    fresh_[i] |= set_of(step.to);
                    break;
                case step::kind::publish: {
                    if (group(step.from) != group(step.to)) return "published between two memories";
                    space_set& visible = visible_[i][memories_.hub(step.to)];
                    if (visible == 0) visible = set_of(step.from);
                    if (!has(visible, step.from) && !has(visible, step.to)) {
                        if (fresh_[i] & group(step.to)) return "published by one who holds nothing";
                        break;  // another had this memory last; what it holds is stale, and asking the wrong one does
                                // no harm
                    }
                    if (has(visible, step.from) && !has(visible, step.to)) {
                        const bool is_fresh = has(fresh_[i], step.from);
                        fresh_[i] = is_fresh ? fresh_[i] | set_of(step.to) : fresh_[i] & ~set_of(step.to);
                    }
                    visible = step.what == access::read ? visible | set_of(step.to) : set_of(step.to);
                    break;
                }
            }
        }
        return {};
    }

    std::string check_grant(byte_range range, space_id where, access what) const {
        for (std::size_t i = range.begin; i < range.end; ++i) {
            if (what != access::write && !has(fresh_[i], where)) return "granted stale bytes to a reader";
            if (what == access::read && !may_read(i, where)) return "granted memory that another space holds";
            if (what != access::read && !may_write(i, where)) return "granted writing where others may read";
        }
        return {};
    }

    std::string check_claims(const directory& known) const {
        std::string wrong;
        known.for_each(known.whole(), [&](byte_range range, const knowledge& k) {
            for (std::size_t i = range.begin; i < range.end; ++i) {
                if (k.current & ~fresh_[i]) wrong = "a stale copy is called current";
            }
        });
        return wrong;
    }

private:
    space_set group(space_id space) const { return memories_.group(space) & all_spaces; }
    space_set visible_to(std::size_t i, space_id space) const { return visible_[i][memories_.hub(space)]; }
    bool may_read(std::size_t i, space_id space) const {
        return std::has_single_bit(group(space)) || has(visible_to(i, space), space);
    }
    bool may_write(std::size_t i, space_id space) const {
        return std::has_single_bit(group(space)) || visible_to(i, space) == set_of(space);
    }

    const sharing& memories_;
    std::array<space_set, most_ranges> fresh_{};
    std::array<bool, most_ranges> unwritten_{};
    std::array<std::array<space_set, spaces>, most_ranges> visible_{};  // [byte][hub]: who may touch a shared memory
    std::array<int, most_ranges> moved_{};
};

class model {
public:
    model(const sharing& memories, bool with_pointers)
        : memories_(memories),
          with_pointers_(with_pointers),
          ranges_(with_pointers ? most_ranges - 1 : most_ranges),
          seen_(possible_states) {}

    void explore() {
        visit(directory(ranges_));
        while (!open_.empty()) {
            const directory known = directory_of(open_.back(), ranges_);
            open_.pop_back();
            for (std::size_t begin = 0; begin < ranges_; ++begin) {
                for (std::size_t end = begin + 1; end <= ranges_; ++end) {
                    operate(known, {begin, end});
                    if (testing::Test::HasFailure()) return;
                }
            }
        }
    }

    std::size_t states() const { return states_; }
    std::size_t operations() const { return operations_; }

private:
    void visit(const directory& known) {
        const std::uint32_t key = key_of(known);
        if (seen_[key]) return;
        seen_[key] = true;
        ++states_;
        open_.push_back(key);
        if (const char* const broken = broken_rule(known, all_spaces)) fail(known, broken);
    }

    void operate(const directory& known, byte_range range) {
        for (space_id where = 0; where < spaces; ++where) {
            for (const access what : {access::read, access::write, access::read_write}) {
                for (space_id holder = 0; holder < spaces; ++holder) access_range(known, range, where, what, holder);
            }
            change(known, [&](directory& d) {  // mark_dirty
                before_writes(d, range, where);
                wrote(d, range, where);
            });
            discard(known, range, where);
        }
        change(known, [&](directory& d) { assume_host_writes(d, range); });
        change(known, [&](directory& d) { found_host_writes(d, range); });
        change(known, [&](directory& d) { end_pointers(d, range); });
        change(known, [&](directory& d) { drop_content(d, range); });
    }

    template <class Change>
    void change(directory known, Change apply) {
        ++operations_;
        apply(known);
        visit(known);
    }

    /// Nobody can tell the host's writes from those of a device that shares its memory.
    void before_writes(directory& d, byte_range range, space_id where) const {
        if (where == host || memories_.hub(where) != memories_.hub(host)) return;
        d.update(range, [](knowledge& k) {
            if (k.exposed()) k.out = pointers::assumed;
        });
    }

    static void end_pointers(directory& d, byte_range range) {
        assume_host_writes(d, range);
        d.update(range, [](knowledge& k) {
            if (!k.contested) k.out = pointers::none;
        });
    }

    /// An access as the buffer makes it: host writes found first, then steps, each of which may be the last that
    /// succeeds.
    void access_range(directory known, byte_range range, space_id where, access what, space_id holder) {
        ++operations_;
        if (where != host) assume_host_writes(known, range);
        if (what != access::write && !contested_in(known, range).empty()) return;  // refused
        if (what != access::read) before_writes(known, range, where);
        world real(known, memories_);
        real.assume_last_holder(holder);
        directory after = known;
        std::string wrong;
        for (const step& next : plan(known, memories_, {}, range, where, what)) {
            visit(after);  // where this step fails
            if (next.does == step::kind::move && what == access::write)
                wrong = "fetched what is about to be overwritten";
            if (next.range.empty() || !range.contains(next.range)) wrong = "a step outside the access";
            if (wrong.empty()) wrong = real.act(next);
            complete(after, memories_, next);
            if (wrong.empty()) wrong = real.check_claims(after);
            if (!wrong.empty()) break;
        }
        if (wrong.empty()) wrong = real.check_grant(range, where, what);
        if (wrong.empty() && !plan(after, memories_, {}, range, where, access::read).empty() && what != access::write) {
            wrong = "reading again still needs steps";
        }
        if (!wrong.empty()) return fail(known, wrong, range, where, what);
        visit(after);
        if (with_pointers_ && where == host && what == access::read_write) {  // one is given out
            for (const pointers how : {pointers::assumed, pointers::watched}) {
                change(after, [&](directory& d) { expose(d, range, how); });
            }
        }
        if (what != access::read) wrote(after, range, where);
        visit(after);
    }

    void discard(directory known, byte_range range, space_id where) {
        ++operations_;
        const bool settles = !contested_in(known, range).empty();
        settle_without(known, range, where);
        visit(known);
        if (where == host && settles) return;
        const byte_range only = only_at(known, range, where);
        bool loses = false;
        known.for_each(range, [&](byte_range, const knowledge& k) {
            loses |= k.what != content::unwritten && k.current == set_of(where);
            loses |= k.exposed() && where == host;
        });
        if (only.empty() == loses)
            return fail(known, "discard is allowed where it loses content, or refused where not");
        if (loses) return;
        drop(known, range, where);
        visit(known);
    }

    void fail(const directory& known, const std::string& why, byte_range range = {}, space_id where = 0,
              access what = access::read) {
        std::string state;
        known.for_each(known.whole(), [&](byte_range r, const knowledge& k) {
            state += " [" + std::to_string(r.begin) + "," + std::to_string(r.end) + ") current " +
                     std::to_string(k.current) + " content " + std::to_string(static_cast<int>(k.what)) +
                     (k.exposed() ? " exposed" : "") + (k.contested ? " contested" : "");
        });
        ADD_FAILURE() << why << "\n  directory:" << state << "\n  access " << static_cast<int>(what) << " of ["
                      << range.begin << "," << range.end << ") at space " << static_cast<int>(where);
    }

    const sharing& memories_;
    bool with_pointers_;
    std::size_t ranges_;
    std::vector<bool> seen_;
    std::vector<std::uint32_t> open_;
    std::size_t states_ = 0;
    std::size_t operations_ = 0;
};

struct arrangement {
    const char* name;
    std::array<space_id, spaces> hubs;
};

class coherence_model : public testing::TestWithParam<arrangement> {};

TEST_P(coherence_model, every_reachable_state_keeps_the_rules) {
    sharing memories;
    for (space_id s = 0; s < spaces; ++s) memories.share(s, GetParam().hubs[s]);
    for (const bool with_pointers : {false, true}) {
        model checked(memories, with_pointers);
        checked.explore();
        std::cout << "[  MODEL   ] " << GetParam().name << (with_pointers ? ", with pointers: " : ": ")
                  << checked.states() << " states, " << checked.operations() << " operations\n";
        EXPECT_GT(checked.states(), 500u);
    }
}

INSTANTIATE_TEST_SUITE_P(placements, coherence_model,
                         testing::Values(arrangement{"three_memories", {0, 1, 2}},
                                         arrangement{"one_device_shares_with_the_host", {0, 0, 2}},
                                         arrangement{"both_devices_share_with_the_host", {0, 0, 0}},
                                         arrangement{"the_devices_share_with_each_other", {0, 1, 1}}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace unibuf::coherence
