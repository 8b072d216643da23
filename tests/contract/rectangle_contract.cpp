// tests/contract/rectangle_contract.cpp: rectangles of up to eight axes go to a memory and back, and nothing beside
// them does.
#include "contract/rectangles.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include "contract/contract.hpp"
#include "support/seeds.hpp"

namespace unibuf::backends {

void PrintTo(const rectangle_copy& what, std::ostream* out) {
    *out << "rows of " << what.row_bytes << " bytes from " << what.here.offset << " (there " << what.there.offset
         << ")";
    for (std::size_t axis = 0; axis < what.axes; ++axis) {
        *out << ", " << what.counts[axis] << " at " << what.here.pitches[axis] << " (" << what.there.pitches[axis]
             << ")";
    }
}

}  // namespace unibuf::backends

namespace unibuf::contract {
namespace {

std::size_t between(std::mt19937& source, std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(source);
}

/// Lays the rows out with gaps, some of them none.
rectangle_copy::end with_gaps(std::mt19937& source, const rectangle_copy& of) {
    rectangle_copy::end result{.offset = between(source, 0, 70)};
    std::size_t inside = of.row_bytes;
    for (std::size_t axis = of.axes; axis-- > 0;) {
        switch (between(source, 0, 3)) {
            case 0:
                result.pitches[axis] = inside;
                break;
            case 1:  // whole rows or planes more, as in a larger box
                result.pitches[axis] = inside + (axis + 1 < of.axes ? result.pitches[axis + 1] : inside);
                break;
            default:
                result.pitches[axis] = inside + between(source, 1, 17);
        }
        inside = of.counts[axis] * result.pitches[axis];
    }
    return result;
}

constexpr std::array<other_end, 3> ends{other_end::the_same, other_end::packed, other_end::any};

}  // namespace

rectangle_copy random_rectangle(std::mt19937& source, std::size_t axes, other_end there) {
    constexpr std::array<std::size_t, 8> common{1, 2, 4, 8, 12, 16, 24, 32};
    rectangle_copy result;
    result.row_bytes = between(source, 0, 1) == 0 ? common[between(source, 0, 7)] : between(source, 1, 64);
    result.axes = axes - 1;
    const std::size_t most = axes < 4 ? 20 : 4;
    for (std::size_t axis = 0; axis < result.axes; ++axis) result.counts[axis] = between(source, 1, most);
    result.here = with_gaps(source, result);
    switch (there) {
        case other_end::the_same:
            result.there = result.here;
            break;
        case other_end::packed:
            result.there = rectangle_copy::end::without_gaps(result.row_bytes, result.axes, result.counts);
            break;
        case other_end::any:
            result.there = with_gaps(source, result);
    }
    return result;
}

std::size_t size_for(const rectangle_copy& what, const rectangle_copy::end& of, std::mt19937& source) {
    return of.offset + what.span_of(of) + between(source, 0, 1) * between(source, 1, 40);
}

void copy_as_told(const rectangle_copy& what, std::span<std::byte> here, std::span<const std::byte> there) {
    std::array<std::size_t, rectangle_copy::most_axes> index{};
    for (;;) {
        std::size_t to = what.here.offset;
        std::size_t from = what.there.offset;
        for (std::size_t axis = 0; axis < what.axes; ++axis) {
            to += index[axis] * what.here.pitches[axis];
            from += index[axis] * what.there.pitches[axis];
        }
        for (std::size_t i = 0; i < what.row_bytes; ++i) here[to + i] = there[from + i];
        std::size_t axis = what.axes;
        while (axis > 0 && ++index[axis - 1] == what.counts[axis - 1]) index[--axis] = 0;
        if (axis == 0) return;
    }
}

void check_rectangles(backends::device& device, unsigned seed, const std::function<queue()>& next_queue) {
    std::mt19937 source(test::seed(seed));
    for (std::size_t axes = 1; axes <= 1 + rectangle_copy::most_axes; ++axes) {
        for (const other_end there : ends) {
            const rectangle_copy what = random_rectangle(source, axes, there);
            const std::size_t count = size_for(what, what.here, source);
            const bytes host = noise(size_for(what, what.there, source), seed + 1);
            bytes wanted = noise(count, seed + 2);
            const auto memory = device.allocate({.bytes = count});
            memory->write(0, wanted, {}).wait();
            copy_as_told(what, wanted, host);
            const queue on = next_queue();
            const fence written = memory->write_rectangle(what, host.data(), on);
            const queue next = next_queue();
            if (next.native != on.native && !device.order(written, next)) written.wait();
            bytes got = noise(host.size(), seed + 3);
            bytes wanted_back = got;
            copy_as_told(what.turned(), wanted_back, wanted);
            memory->read_rectangle(what, got.data(), next).wait();
            written.wait();
            EXPECT_TRUE(same(got, wanted_back)) << "read: " << ::testing::PrintToString(what);
            bytes all(count);
            memory->read(0, all, {}).wait();
            EXPECT_TRUE(same(all, wanted)) << "written: " << ::testing::PrintToString(what);
        }
    }
}

void check_rectangles_between(backends::device& device, unsigned seed, const std::function<queue()>& next_queue) {
    std::mt19937 source(test::seed(seed));
    for (std::size_t axes = 1; axes <= 1 + rectangle_copy::most_axes; ++axes) {
        for (const other_end there : ends) {
            const rectangle_copy what = random_rectangle(source, axes, there);
            const bytes content = noise(size_for(what, what.there, source), seed + 1);
            bytes wanted = noise(size_for(what, what.here, source), seed + 2);
            const bool made_later = between(source, 0, 1) == 1;
            auto from = made_later ? nullptr : device.allocate({.bytes = content.size()});
            const auto to = device.allocate({.bytes = wanted.size()});
            if (!from) from = device.allocate({.bytes = content.size()});
            if (!to->takes_from(*from)) GTEST_SKIP() << device.about().description << " copies nothing by itself";
            from->write(0, content, {}).wait();
            to->write(0, wanted, {}).wait();
            copy_as_told(what, wanted, content);
            to->write_rectangle_from(*from, what, next_queue()).wait();
            bytes all(wanted.size());
            to->read(0, all, {}).wait();
            EXPECT_TRUE(same(all, wanted)) << ::testing::PrintToString(what);
            bytes left(content.size());
            from->read(0, left, {}).wait();
            EXPECT_TRUE(same(left, content)) << ::testing::PrintToString(what);

            // Within one memory, behind what is there already.
            rectangle_copy within = what;
            const std::size_t behind = what.here.offset + what.span_of(what.here);
            const auto both = device.allocate({.bytes = behind + content.size()});
            bytes wanted_within = noise(behind + content.size(), seed + 4);
            both->write(0, wanted_within, {}).wait();
            within.there.offset += behind;
            const bytes before = wanted_within;
            copy_as_told(within, wanted_within, before);
            both->write_rectangle_from(*both, within, next_queue()).wait();
            bytes all_within(wanted_within.size());
            both->read(0, all_within, {}).wait();
            EXPECT_TRUE(same(all_within, wanted_within)) << "within: " << ::testing::PrintToString(what);
        }
    }
}

TEST_P(backend_contract, moves_rectangles_and_nothing_beside_them) {
    for (unsigned seed = 1; seed <= 4 && !HasFailure(); ++seed) {
        check_rectangles(device(), seed, [] { return queue(); });
        check_rectangles(device(), seed, [this] { return device().own_queue(); });
    }
}

TEST_P(backend_contract, copies_rectangles_between_its_memories) {
    for (unsigned seed = 1; seed <= 3 && !HasFailure() && !IsSkipped(); ++seed) {
        check_rectangles_between(device(), seed, [] { return queue(); });
    }
}

/// A column of few bytes in each row, a plane, and more bytes than any staging holds.
TEST_P(backend_contract, moves_large_rectangles) {
    constexpr std::size_t kib = 1024;
    const rectangle_copy column{.row_bytes = 4, .axes = 1, .counts = {3000}, .here = {.offset = 12, .pitches = {1000}}};
    const rectangle_copy face{
        .row_bytes = 4, .axes = 2, .counts = {60, 100}, .here = {.offset = 8, .pitches = {40'000, 100}}};
    const rectangle_copy block{.row_bytes = 90 * kib,
                               .axes = 2,
                               .counts = {3, 40},
                               .here = {.offset = 5, .pitches = {41 * 91 * kib, 91 * kib}}};
    const rectangle_copy long_rows{
        .row_bytes = 5000 * kib, .axes = 1, .counts = {2}, .here = {.offset = 3, .pitches = {5003 * kib}}};
    for (rectangle_copy what : {column, face, block, long_rows}) {
        for (const other_end end : {other_end::the_same, other_end::packed}) {
            what.there = end == other_end::the_same
                             ? what.here
                             : rectangle_copy::end::without_gaps(what.row_bytes, what.axes, what.counts);
            const bytes host = noise(what.there.offset + what.span_of(what.there), 1);
            bytes wanted = noise(what.here.offset + what.span_of(what.here) + 100, 2);
            const auto memory = allocate(wanted.size());
            memory->write(0, wanted, {}).wait();
            copy_as_told(what, wanted, host);
            memory->write_rectangle(what, host.data(), {}).wait();
            EXPECT_TRUE(same(get(*memory, 0, wanted.size()), wanted)) << ::testing::PrintToString(what);
            bytes got(host.size());
            bytes wanted_back(host.size());
            copy_as_told(what.turned(), wanted_back, wanted);
            memory->read_rectangle(what, got.data(), {}).wait();
            EXPECT_TRUE(same(got, wanted_back)) << ::testing::PrintToString(what);
        }
    }
}

TEST_P(backend_contract, keeps_the_order_of_rectangles_that_nobody_waits_for) {
    constexpr std::size_t rows = 400;
    constexpr std::size_t pitch = 100;
    const rectangle_copy what{.row_bytes = 40,
                              .axes = 1,
                              .counts = {rows},
                              .here = {.offset = 10, .pitches = {pitch}},
                              .there = {.offset = 10, .pitches = {pitch}}};
    const auto memory = allocate(rows * pitch);
    const bytes first = noise(rows * pitch, 1);
    const bytes second = noise(rows * pitch, 2);
    const bytes third = noise(rows * pitch, 3);
    bytes got(rows * pitch);
    const fence a = memory->write(0, first, {});
    const fence b = memory->write_rectangle(what, second.data(), {});
    const fence c = memory->write(0, std::span(third).first(1000), {});
    bytes wanted = first;
    copy_as_told(what, wanted, second);
    std::ranges::copy(std::span(third).first(1000), wanted.begin());
    memory->read(0, got, {}).wait();
    for (const fence& each : {a, b, c}) each.wait();
    EXPECT_TRUE(same(got, wanted));
}

TEST_P(backend_contract, serves_threads_with_rectangles_of_one_memory) {
    constexpr std::size_t rows = 64;
    constexpr std::size_t width = 16;
    constexpr std::size_t threads = 8;
    constexpr std::size_t pitch = threads * width;
    const auto memory = allocate(rows * pitch);
    {
        std::vector<std::jthread> all;
        for (unsigned t = 0; t < threads; ++t) {
            all.emplace_back([&memory, t] {
                rectangle_copy mine{.row_bytes = width, .axes = 1, .counts = {rows}};
                mine.here = {.offset = t * width, .pitches = {pitch}};
                mine.there = {.offset = 0, .pitches = {width}};
                for (unsigned round = 0; round < 8; ++round) {
                    const bytes content = noise(rows * width, 100 * t + round + 1);
                    memory->write_rectangle(mine, content.data(), {}).wait();
                    bytes got(rows * width);
                    memory->read_rectangle(mine, got.data(), {}).wait();
                    EXPECT_TRUE(same(got, content));
                }
            });
        }
    }
}

}  // namespace unibuf::contract
