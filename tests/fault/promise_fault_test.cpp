// tests/fault/promise_fault_test.cpp: what a directory has promised to note needs no memory, whatever happens beside
// it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <list>
#include <memory>
#include <new>
#include <vector>

#include "coherence/directory.hpp"
#include "fault/no_memory.hpp"
#include "unit/any_region.hpp"

namespace unibuf::coherence::promise_fault_test {
namespace {

/// A directory, and beside it one entry a byte.
struct known_bytes {
    explicit known_bytes(std::size_t bytes) : known(bytes), expected(bytes) {}

    void flip(const region& part, space_set bits) {
        for (const std::size_t at : test::bytes_of(part)) expected[at].current ^= bits;
    }

    void check() const {
        std::vector<knowledge> found;
        known.for_each_run(known.whole(),
                           [&](byte_range range, const knowledge& k) { found.insert(found.end(), range.size(), k); });
        RC_ASSERT(found == expected);
        summary all = summary_of(expected.front());
        for (const knowledge& each : expected) all.add(summary_of(each));
        RC_ASSERT(known.summarize() == all);
    }

    directory known;
    std::vector<knowledge> expected;
};

auto flipping(space_set bits) {
    return [=](knowledge& k) { k.current ^= bits; };
}

/// Returns a part of `whole` that divide() may be asked for.
region part_of(const region& whole) {
    const auto within = [](std::size_t begin, std::size_t end) {
        const auto first = *rc::gen::inRange(begin, end);
        return byte_range{first, *rc::gen::inRange(first + 1, end + 1)};
    };
    if (whole.is_range()) return within(whole.begin(), whole.end());
    box made = *whole.as_box();
    for (std::size_t axis = 0; axis < made.on.axes; ++axis) {
        const byte_range indices = within(made.begin[axis], made.end[axis]);
        made.begin[axis] = indices.begin;
        made.end[axis] = indices.end;
    }
    return region(made);
}

RC_GTEST_PROP(promises, are_kept_without_memory, ()) {
    const std::vector<lattice> lattices = test::any_lattices();
    known_bytes of(test::bytes_of(lattices));
    struct promised {
        promised(directory& in, const region& of) : part(of), kept(in, of) {}
        region part;
        directory::promise kept;
        std::vector<region> divided;
    };
    std::list<promised> alive;
    const auto is_free = [&](const region& part) {
        return std::ranges::none_of(alive, [&](const promised& each) { return each.part.overlaps(part); });
    };
    for (int left = *rc::gen::inRange(1, 40); left > 0; --left) {
        const auto what = *rc::gen::inRange(0, 5);
        const auto bits = *rc::gen::inRange<space_set>(1, 4);
        const auto granted = *rc::gen::inRange(0U, 12U);
        const region any = test::any_region(lattices, of.known.bytes());
        if (what < 2 && is_free(any)) {  // promise, or change at once, where an allocation may be denied
            std::list<promised> made;
            bool changed = false;
            try {
                const test::no_memory denied(granted);
                if (what == 0) made.emplace_back(of.known, any);
                if (what == 1) of.known.update(any, flipping(bits));
                changed = what == 1;
            } catch (const std::bad_alloc&) {
            }
            if (changed) of.flip(any, bits);
            alive.splice(alive.end(), made);
        } else if (!alive.empty()) {
            const auto index = *rc::gen::inRange<std::size_t>(0, alive.size());
            const auto chosen = std::next(alive.begin(), static_cast<std::ptrdiff_t>(index));
            if (what == 2) {
                const region smaller = part_of(chosen->part);
                try {
                    chosen->divided.reserve(chosen->divided.size() + 1);
                    const test::no_memory denied(granted);
                    chosen->kept.divide(smaller);
                    chosen->divided.push_back(smaller);
                } catch (const std::bad_alloc&) {
                }
            } else if (what == 3) {
                region changed = chosen->part;
                if (!chosen->divided.empty() && *rc::gen::arbitrary<bool>()) changed = chosen->divided.back();
                {
                    const test::no_memory denied;
                    chosen->kept.update(changed, flipping(bits));
                }
                of.flip(changed, bits);
            } else {
                const test::no_memory denied;
                alive.erase(chosen);
            }
        }
        of.check();
    }
    alive.clear();
    of.check();
    std::size_t runs = 1;
    for (std::size_t at = 1; at < of.expected.size(); ++at) runs += of.expected[at] != of.expected[at - 1];
    RC_ASSERT(of.known.pieces() <= runs * (2 * lattices.front().axes - std::size_t{1}));  // a run of many boxes
}

}  // namespace
}  // namespace unibuf::coherence::promise_fault_test
