// tests/unit/coherence_model_test.cpp: every state that a byte can reach, under every operation.
//
// What is known of a byte depends on that byte alone, so one byte and four spaces cover all that can happen to it:
// every field of the directory, every verb, and every step that fails. Two bytes and three spaces cover what is not of
// one byte: an access of a range whose pieces are known differently.
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

#include "coherence/state.hpp"
#include "coherence/transitions.hpp"
#include "support/sanitizers.hpp"

namespace unibuf::coherence::coherence_model_test {
namespace {

constexpr std::size_t most_bytes = 2;
constexpr space_id most_spaces = 4;  // the host and three devices
constexpr std::size_t bits = 11;     // tell what is known of one byte
constexpr std::size_t possible_states = std::size_t{1} << (bits * most_bytes);

std::uint32_t key_of(const knowledge& known) {
    return known.current | static_cast<std::uint32_t>(known.what) << 4 |
           static_cast<std::uint32_t>(known.host_pointers) << 6 | std::uint32_t{known.open} << 8 |
           std::uint32_t{known.lost} << 9 | std::uint32_t{known.contested} << 10;
}

knowledge knowledge_of(std::uint32_t key) {
    return {.current = key & 15,
            .what = static_cast<content>(key >> 4 & 3),
            .host_pointers = static_cast<pointers>(key >> 6 & 3),
            .open = (key >> 8 & 1) != 0,
            .lost = (key >> 9 & 1) != 0,
            .contested = (key >> 10 & 1) != 0};
}

std::uint32_t key_of(const directory& known) {
    std::uint32_t key = 0;
    known.for_each_run(known.whole(), [&](byte_range range, const knowledge& k) {
        for (std::size_t i = range.begin; i < range.end; ++i) key |= key_of(k) << (bits * i);
    });
    return key;
}

directory directory_of(std::uint32_t key, std::size_t bytes) {
    directory result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        const knowledge of_byte = knowledge_of(key >> (bits * i) & ((1U << bits) - 1));
        result.update({i, i + 1}, [&](knowledge& k) { k = of_byte; });
    }
    return result;
}

bool is_open(const knowledge& k) { return k.open; }

/// The world knows what is really in the memories, byte by byte.
class world {
public:
    world(const directory& known, const sharing& memories, space_id spaces)
        : memories_(memories), all_((space_set{1} << spaces) - 1) {
        known.for_each_run(known.whole(), [&](byte_range range, const knowledge& k) {
            for (std::size_t i = range.begin; i < range.end; ++i) {
                fresh_[i] = k.current;
                unwritten_[i] = k.what == content::unwritten;
                for (space_id s = 0; s < most_spaces; ++s) {
                    const space_set holders = k.current & group(s);
                    visible_[i][memories.hub(s)] = holders;
                }
            }
        });
    }

    /// Assumes that `holder` had its memory last, in all bytes of it that nobody is current in.
    void assume_last_holder(space_id holder) {
        for (auto& byte : visible_) {
            space_set& seen_by = byte[memories_.hub(holder)];
            if (seen_by == 0) seen_by = set_of(holder);
        }
    }

    /// Does a step. Returns what is wrong with it; empty where it is right.
    std::string act(const step& step) {
        for (std::size_t i = step.part.begin(); i < step.part.end(); ++i) {
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
                        break;  // a third space had this memory last: its bytes are stale, so nothing is lost
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
        known.for_each_run(known.whole(), [&](byte_range range, const knowledge& k) {
            for (std::size_t i = range.begin; i < range.end; ++i) {
                if (k.current & ~fresh_[i]) wrong = "a stale copy is called current";
            }
        });
        return wrong;
    }

private:
    space_set group(space_id space) const { return memories_.group(space) & all_; }
    space_set visible_to(std::size_t i, space_id space) const { return visible_[i][memories_.hub(space)]; }
    bool may_read(std::size_t i, space_id space) const {
        return std::has_single_bit(group(space)) || has(visible_to(i, space), space);
    }
    bool may_write(std::size_t i, space_id space) const {
        return std::has_single_bit(group(space)) || visible_to(i, space) == set_of(space);
    }

    const sharing& memories_;
    space_set all_;
    std::array<space_set, most_bytes> fresh_{};
    std::array<bool, most_bytes> unwritten_{};
    std::array<std::array<space_set, most_spaces>, most_bytes>
        visible_{};  // [byte][hub]: spaces that may touch a shared memory
    std::array<int, most_bytes> moved_{};
};

class model {
public:
    model(const sharing& memories, space_id spaces, std::size_t bytes)
        : memories_(memories), spaces_(spaces), bytes_(bytes), seen_(possible_states) {}

    void explore() {
        visit(directory(bytes_));
        while (!to_do_.empty()) {
            const directory known = directory_of(to_do_.back(), bytes_);
            from_ = to_do_.back();
            to_do_.pop_back();
            for (std::size_t begin = 0; begin < bytes_; ++begin) {
                for (std::size_t end = begin + 1; end <= bytes_; ++end) {
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
        to_do_.push_back(key);
        const space_set all = (space_set{1} << spaces_) - 1;
        if (const char* const broken = broken_rule(known, all)) fail(known, broken);
        check_summary(known);
    }

    void operate(const directory& known, byte_range range) {
        for (space_id where = 0; where < spaces_; ++where) {
            for (const access what : {access::read, access::write, access::read_write}) {
                for (space_id holder = 0; holder < spaces_; ++holder) access_range(known, range, where, what, holder);
            }
            mark(known, range, where);
            discard(known, range, where);
            // Nothing stays under way to the host while pointers to it are out, nor where a standing hold is open.
            const bool may_fail =
                !known.any(range, [&](const knowledge& k) { return k.open || (where == host && k.exposed()); });
            if (may_fail) change(known, [&](directory& d) { did_not_arrive(d, range, where); });
            if (where != host) borrow(known, where);
        }
        fill(known, range);
        change(known, [&](directory& d) { assume_host_writes(d, range); });
        change(known, [&](directory& d) { found_host_writes(d, range); });
        change(known, [&](directory& d) { end_pointers(d, range); });
        change(known, [&](directory& d) { stop_watching(d, d.whole()); });
        change(known, [&](directory& d) { drop_content(d, range); });
        change(known, [&](directory& d) { pause(d, range); });
    }

    template <class Change>
    void change(directory known, Change apply) {
        ++operations_;
        apply(known);
        visit(known);
    }

    /// Prepares a range before `where` writes. The host's writes cannot be told from those of a device that shares the
    /// host's memory.
    void before_writes(directory& d, byte_range range, space_id where) const {
        if (where == host) return;
        const pointers how = memories_.hub(where) == memories_.hub(host) ? pointers::assumed : pointers::watched;
        d.update(range, [&](knowledge& k) {
            if (k.exposed()) k.host_pointers = how;
        });
    }

    void mark(directory known, byte_range range, space_id where) {
        ++operations_;
        before_writes(known, range, where);
        wrote(known, range, where);
        visit(known);
    }

    /// Makes quiet what is open at a memory that `where` does not use, as happens before an access.
    void quiet(directory& d, byte_range range, space_id where) {
        const auto is_open = [&](const knowledge& k) { return k.open && !has(k.current, where); };
        for (const byte_range& each : d.where(range, is_open)) pause(d, each);
    }

    /// Makes an access as the buffer does: open bytes become quiet and host writes are found first, then come steps.
    /// Each step may be the last that succeeds.
    void access_range(directory known, byte_range range, space_id where, access what, space_id holder) {
        ++operations_;
        quiet(known, range, where);
        if (where != host) assume_host_writes(known, range);
        visit(known);
        if (what != access::write && !contested_in(known, range).empty()) return;  // refused
        if (what != access::write && !lost_in(known, range).empty()) return;
        for (const space_set found_later : {space_set{0}, ~space_set{0}}) {
            if (found_later != 0 && (where != host || what != access::read_write)) continue;
            carry_out(known, {range, where, what, found_later}, holder);
        }
        if (what != access::read) access_jointly(known, range, where, what, holder);
    }

    /// Makes the access as one of several that are granted together: until the bytes are written, if they are, no space
    /// has lost what it had, but for what is about to be overwritten, where others have it.
    void access_jointly(const directory& known, byte_range range, space_id where, access what, space_id holder) {
        ++operations_;
        const bool shares_host = memories_.hub(where) == memories_.hub(host);
        // Where a device has the newest in the host's memory, what is watched for another device's write may be taken
        // for a conflict when that write fails.
        const auto beside = [&](const knowledge& k) {
            return k.exposed() && !k.at_host() && (k.current & memories_.group(host)) != 0;
        };
        if (!shares_host && known.any(range, beside)) return;
        directory after = known;
        if (!shares_host) before_writes(after, range, where);
        world real(after, memories_, spaces_);
        real.assume_last_holder(holder);
        std::string wrong;
        const directory before = after;
        for (const step& next : plan(after, memories_, {}, {range, where, what, 0, true})) {
            if (next.does == step::kind::move && what == access::write)
                wrong = "fetched what is about to be overwritten";
            if (wrong.empty()) wrong = real.act(next);
            complete(after, memories_, next);
            visit(after);
            if (wrong.empty()) wrong = real.check_claims(after);
        }
        const auto has_lost = [&](std::size_t at) {
            space_set had = 0;
            before.for_each_run({at, at + 1}, [&](byte_range, const knowledge& k) {
                if (k.what != content::unwritten) had = k.current;  // else it is zero anywhere
            });
            return after.any({at, at + 1}, [&](const knowledge& k) { return (had & ~k.current) != 0; });
        };
        for (std::size_t at = range.begin; wrong.empty() && at < range.end; ++at) {
            if (has_lost(at)) wrong = "took content away before the bytes were written";
        }
        if (!wrong.empty()) return fail(known, wrong, range, where, what);
        const space_set group = memories_.group(where);
        about_to_overwrite(directory::promise(after, range), range, where, group, any_exposed(after));
        const auto disagree = [&](const knowledge& k) {
            return !k.contested && (k.current & group) != 0 && std::popcount(k.current) > 1;
        };
        if (after.any(range, disagree)) return fail(known, "one of two that are current changes", range, where, what);
        visit(after);  // the bytes may hold anything there if the write fails half way
        if (shares_host) before_writes(after, range, where);
        wrote(after, range, where);
        visit(after);
    }

    void carry_out(const directory& known, const plan_request& asked, space_id holder) {
        const auto& [part, where, what, found_later, stay, handed_out] = asked;
        const byte_range range = part.hull();
        world real(known, memories_, spaces_);
        real.assume_last_holder(holder);
        directory after = known;
        std::string wrong;
        for (const step& next : plan(known, memories_, {}, asked)) {
            visit(after);  // the state that is left where this step fails
            if (next.does == step::kind::move && what == access::write)
                wrong = "fetched what is about to be overwritten";
            if (next.part.empty() || !region(range).contains(next.part)) wrong = "a step outside the access";
            if (wrong.empty()) wrong = real.act(next);
            complete(after, memories_, next);
            if (wrong.empty() && found_later == 0) wrong = real.check_claims(after);
            if (!wrong.empty()) break;
        }
        if (wrong.empty()) wrong = real.check_grant(range, where, what);
        if (wrong.empty() && what != access::write && !plan(after, memories_, {}, {range, where}).empty()) {
            wrong = "reading again still needs steps";
        }
        if (!wrong.empty()) return fail(known, wrong, range, where, what);
        visit(after);
        if (where == host && what == access::read_write) {  // a pointer is given out
            for (const pointers how : {pointers::assumed, pointers::watched, pointers::fresh}) {
                const bool written = after.any(range, [](const knowledge& k) { return k.what != content::unwritten; });
                if (how == pointers::fresh && written) continue;
                change(after, [&](directory& d) { expose(d, range, how); });
            }
        }
        if (where != host && what == access::read_write) {  // a standing hold opens
            change(after, [&](directory& d) {
                before_writes(d, range, where);
                open(d, range, where);
            });
        }
        if (what == access::read) return;
        before_writes(after, range, where);  // what was armed for a failed access is disarmed
        wrote(after, range, where);
        visit(after);
    }

    void fill(const directory& known, byte_range range) {
        const space_set all = (space_set{1} << spaces_) - 1;
        const space_id where = place_to_fill(known, range, all);
        if (where != host) {
            const bool current = !known.any(range, [&](const knowledge& k) { return !has(k.current, where); });
            if (!current) fail(known, "fills where not all of it is current", range, where, access::write);
        }
        access_range(known, range, where, access::write, where);
    }

    void discard(directory known, byte_range range, space_id where) {
        ++operations_;
        if (known.any(range, is_open)) return;  // a standing hold pins the copies
        const bool settles = !contested_in(known, range).empty();
        settle_without(known, range, where);
        visit(known);
        if (where == host && settles) return;
        const byte_range only = only_at(known, range, where);
        bool loses = false;
        known.for_each_run(range, [&](byte_range, const knowledge& k) {
            loses |= k.what != content::unwritten && k.current == set_of(where);
            loses |= k.exposed() && where == host;
        });
        if (only.empty() == loses) {
            return fail(known, "discard is allowed where it loses content, or refused where not", range, where);
        }
        if (loses) return;
        drop(known, range, where);
        visit(known);
    }

    /// Lets another device, which holds nothing, take the memory of `from`.
    void borrow(const directory& known, space_id from) {
        for (space_id to = 1; to < spaces_; ++to) {
            const bool apart = to != from && memories_.group(to) == set_of(to) && memories_.group(from) == set_of(from);
            const auto holds = [&](const knowledge& k) { return has(k.current, to) || k.open; };
            if (!apart || known.any(known.whole(), holds)) continue;
            change(known, [&](directory& d) { hand_over(d, from, to); });
        }
    }

    /// Checks that the summary says of all bytes what they say one by one.
    void check_summary(const directory& known) {
        const summary all = known.summarize();
        summary expected;
        expected.current = ~space_set{0};
        space_set writers = ~space_set{0};
        known.for_each_run(known.whole(), [&](byte_range, const knowledge& k) {
            expected.current &= k.current;
            writers &= k.what == content::written ? k.current : 0;
            expected.all_exposed &= k.exposed();
            expected.all_assumed &= k.host_pointers == pointers::assumed;
            expected.any_exposed |= k.exposed();
            expected.any_open |= k.open;
            expected.any_lost |= k.lost;
            expected.any_contested |= k.contested;
        });
        expected.written_by = writers;
        if (all != expected) fail(known, "the summary is wrong");
    }

    static std::string text_of(const directory& known) {
        std::string state;
        known.for_each_run(known.whole(), [&](byte_range r, const knowledge& k) {
            state += " [" + std::to_string(r.begin) + "," + std::to_string(r.end) + ") current " +
                     std::to_string(k.current) + " content " + std::to_string(static_cast<int>(k.what)) + " pointers " +
                     std::to_string(static_cast<int>(k.host_pointers)) + (k.open ? " open" : "") +
                     (k.lost ? " lost" : "") + (k.contested ? " contested" : "");
        });
        return state;
    }

    void fail(const directory& known, const std::string& why, byte_range range = {}, space_id where = 0,
              access what = access::read) const {
        ADD_FAILURE() << why << "\n  directory:" << text_of(known) << "\n  access " << static_cast<int>(what) << " of ["
                      << range.begin << "," << range.end << ") at space " << static_cast<int>(where)
                      << "\n  reached from:" << text_of(directory_of(from_, bytes_));
    }

    const sharing& memories_;
    space_id spaces_;
    std::size_t bytes_;
    std::vector<bool> seen_;
    std::vector<std::uint32_t> to_do_;
    std::uint32_t from_ = 0;  // the state that is operated on
    std::size_t states_ = 0;
    std::size_t operations_ = 0;
};

struct arrangement {
    const char* name;
    std::array<space_id, most_spaces> hubs;
};

class coherence_model : public testing::TestWithParam<arrangement> {
protected:
    static void explore(space_id spaces, std::size_t bytes) {
        sharing memories;
        for (space_id s = 0; s < spaces; ++s) memories.share(s, GetParam().hubs[s]);
        model checked(memories, spaces, bytes);
        checked.explore();
        std::cout << "[  MODEL   ] " << GetParam().name << ", " << bytes << " bytes, " << int{spaces}
                  << " spaces: " << checked.states() << " states, " << checked.operations() << " operations\n";
        EXPECT_GT(checked.states(), 50u);
    }
};

TEST_P(coherence_model, every_state_of_a_byte_keeps_the_rules) { explore(4, 1); }
TEST_P(coherence_model, every_state_of_two_bytes_keeps_the_rules) {
    explore(test::has_address_sanitizer ? 2 : 3,
            2);  // a sanitizer looks at the code; two spaces go all its ways, in a tenth
}

INSTANTIATE_TEST_SUITE_P(placements, coherence_model,
                         testing::Values(arrangement{"each_has_its_own_memory", {0, 1, 2, 3}},
                                         arrangement{"one_device_shares_with_the_host", {0, 0, 2, 3}},
                                         arrangement{"two_devices_share_with_the_host", {0, 0, 0, 3}},
                                         arrangement{"two_devices_share_with_each_other", {0, 1, 1, 3}}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace unibuf::coherence::coherence_model_test
