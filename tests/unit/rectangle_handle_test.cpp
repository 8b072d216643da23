// tests/unit/rectangle_handle_test.cpp: handles to rectangles, beside pointers, views, standing holds and other
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <thread>
#include <vector>

#include "support/fake_device.hpp"
#include "support/seeds.hpp"
#include "unit/common.hpp"

namespace unibuf::test::rectangle_handle_test {
namespace {

constexpr buffer_options mirrored{.hint = memory_hint::gpu_preferred};

/// Returns the elements that a lease, a view or a standing hold has at a space that the host can address.
template <class T>
T* first_of(const native_memory& at) {
    return reinterpret_cast<T*>(at.handle + at.offset);
}

std::uint64_t moved(const unified_buffer<int>& of) { return of.statistics().bytes_moved(); }

/// An array that the host writes through a pointer that is out all the time, and of which both sides take rectangles.
/// What each element must be, and where it may be written without a conflict, is kept by hand.
class grid_with_pointer {
public:
    grid_with_pointer(std::size_t rows, std::size_t columns, unsigned seed)
        : rows_(rows),
          columns_(columns),
          source_(test::seed(seed)),
          grid_({rows, columns}, mirrored),
          pointer_(grid_.host()),
          expected_(rows * columns),
          is_newer_at_device_(rows * columns) {}

    void step() {
        const int value = ++last_;
        switch (source_() % 7) {
            case 0:
            case 1:
                return store(value);
            case 2: {
                auto [part, all] = any_part();
                const auto lease = part.write(device_);
                int* const first = first_of<int>(lease.native());
                for_each(all, [&](std::size_t index) {
                    first[index - all.front()] = expected_[index] = value;
                    is_newer_at_device_[index] = true;
                });
                return;
            }
            case 3: {
                auto [part, all] = any_part();
                const auto lease = part.write(host);
                for_each(all, [&](std::size_t index) {
                    lease.elements().data()[index - all.front()] = expected_[index] = value;
                    is_newer_at_device_[index] = false;
                });
                return;
            }
            case 4: {
                auto [part, all] = any_part();
                const auto lease = part.read(source_() % 2 == 0 ? host : device_);
                const int* const first = first_of<const int>(lease.native());
                for_each(all, [&](std::size_t index) { ASSERT_EQ(first[index - all.front()], expected_[index]); });
                if (lease.where() == host) arrived(all);
                return;
            }
            case 5: {
                const auto lease = grid_.read(device_);
                const int* const first = first_of<const int>(lease.native());
                ASSERT_TRUE(std::equal(expected_.begin(), expected_.end(), first));
                return;
            }
            default: {
                const auto lease = grid_.read(host);
                ASSERT_TRUE(std::ranges::equal(lease, expected_));
                is_newer_at_device_.assign(is_newer_at_device_.size(), false);
            }
        }
    }

private:
    using indices = std::vector<std::size_t>;

    struct part_of_grid {
        rectangle<int> part;
        indices all;
    };

    part_of_grid any_part() {
        const auto range = [&](std::size_t extent) {
            const std::size_t start = source_() % extent;
            return slice{start, start + 1 + source_() % (extent - start)};
        };
        const slice down = source_() % 3 == 0 ? slice{0, rows_} : range(rows_);
        const slice across = source_() % 2 == 0 ? range(columns_) : slice{3, 4};
        indices all;
        for (std::size_t row = down.start; row < down.stop; ++row) {
            for (std::size_t column = across.start; column < across.stop; ++column) {
                all.push_back(row * columns_ + column);
            }
        }
        return {grid_.view(down, across), all};
    }

    template <class Visit>
    static void for_each(const indices& all, Visit visit) {
        for (const std::size_t each : all) visit(each);
    }

    void arrived(const indices& all) {
        for (const std::size_t each : all) is_newer_at_device_[each] = false;
    }

    /// Stores where that is no conflict.
    void store(int value) {
        for (int i = 0; i < 3; ++i) {
            const std::size_t index = source_() % expected_.size();
            if (!is_newer_at_device_[index]) pointer_[index] = expected_[index] = value;
        }
    }

    std::size_t rows_;
    std::size_t columns_;
    std::mt19937 source_;
    space device_ = space("debug:0");
    unified_buffer<int> grid_;
    int* pointer_;
    std::vector<int> expected_;
    std::vector<bool> is_newer_at_device_;
    int last_ = 0;
};

struct sides {
    std::size_t rows;
    std::size_t columns;
};

class rectangles_beside_a_pointer : public testing::TestWithParam<sides> {};

// Few and many rows: many are not watched one by one. Small arrays are compared, large ones watched by pages.
TEST_P(rectangles_beside_a_pointer, are_what_was_written) {
    for (unsigned seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        grid_with_pointer grid(GetParam().rows, GetParam().columns, seed);
        for (int i = 0; i < 120 && !HasFatalFailure(); ++i) grid.step();
        if (HasFatalFailure()) return;
    }
}

INSTANTIATE_TEST_SUITE_P(sizes, rectangles_beside_a_pointer,
                         testing::Values(sides{12, 20}, sides{300, 8}, sides{20, 3000}, sides{200, 1100}));

TEST(rectangle_handle, moves_only_its_bytes) {
    const space device("debug:0");
    unified_buffer<int> grid({100, 50}, mirrored);
    grid.fill(1);
    grid.read(device).release();
    rectangle<int> column = grid.view(full_extent, 7);
    const std::uint64_t before = moved(grid);
    column.write(host).release();
    column.read(device).release();
    EXPECT_EQ(moved(grid) - before, 100 * sizeof(int));
    column.mark_dirty(device);
    column.sync_to_host();
    EXPECT_EQ(moved(grid) - before, 200 * sizeof(int));
    grid.read(host).release();
    EXPECT_EQ(moved(grid) - before, 200 * sizeof(int));
    EXPECT_EQ(grid.bytes().ranges(), 1u);
}

TEST(rectangle_handle, excludes_only_who_shares_a_byte) {
    unified_buffer<int> grid({20, 30});
    rectangle<int> left = grid.view(full_extent, slice{0, 10});
    rectangle<int> right = grid.view(full_extent, slice{10, 30});
    const auto first = left.write(host);
    const auto second = right.write(host);
    const failure refused = failure_of([&] { grid.view(5, full_extent).read(host); });
    EXPECT_EQ(refused.code, error_code::access_conflict);
    EXPECT_NE(refused.message.find("20 rows among bytes"), std::string::npos) << refused.message;
}

TEST(rectangle_handle, shows_what_a_host_view_writes) {
    const space device("debug:0");
    for (const std::size_t rows : {10u, 200u}) {
        unified_buffer<int> grid({rows, std::size_t{40}}, mirrored);
        grid.fill(1);
        grid.read(device).release();
        rectangle<int> part = grid.view(full_extent, slice{4, 6});
        {
            auto view = part.host_view();
            part.elements_of(view.data())(rows - 1, 1) = 9;
            EXPECT_EQ(first_of<const int>(grid.read(device).native())[(rows - 1) * 40 + 5], 9);
            part.elements_of(view.data())(0, 0) = 8;
            const failure refused = failure_of([&] { grid.discard_content(); });
            EXPECT_EQ(refused.code, error_code::access_conflict);
            grid.view(full_extent, slice{0, 4}).discard_content();  // the view has no byte of it
        }
        const auto lease = grid.read(device);
        EXPECT_EQ(first_of<const int>(lease.native())[4], 8);
        EXPECT_EQ(first_of<const int>(lease.native())[3], 0);
    }
}

TEST(rectangle_handle, can_be_bound) {
    const space device("debug:0");
    unified_buffer<int> grid({30, 20}, mirrored);
    grid.fill(1);
    rectangle<int> part = grid.view(slice{5, 25}, slice{2, 8});
    standing_hold hold = part.bind(device, access::read_write);
    const auto at_device = part.elements_of(first_of<int>(hold.native()));
    at_device(0, 0) = 5;  // unseen
    EXPECT_EQ(grid.read(host)[5 * 20 + 2], 5);
    at_device(19, 5) = 6;
    {
        const auto beside = grid.view(full_extent, slice{8, 20}).write(host);  // takes no byte of it
        beside(0, 0) = 7;
    }
    EXPECT_EQ(part.read(host)(19, 5), 6);
    part.write(host)(0, 0) = 8;
    EXPECT_EQ(at_device(0, 0), 8);
    const failure refused = failure_of([&] { static_cast<void>(grid.bind("opencl:0", access::read_write)); });
    EXPECT_TRUE(refused.code == error_code::access_conflict || refused.code == error_code::device_unavailable);
    hold.release();
    EXPECT_EQ(grid.read(host)[8], 7);
}

TEST(rectangle_handle, of_two_threads_in_crossed_orders_waits_for_no_circle) {
    unified_buffer<int> grid({40, 40});
    rectangle<int> rows = grid.view(slice{0, 20}, slice{0, 30});
    rectangle<int> columns = grid.view(slice{10, 40}, slice{20, 40});
    rectangle<int> corner = grid.view(slice{20, 40}, slice{0, 20});
    const auto count_up = [&](rectangle<int>& one, rectangle<int>& other) {
        for (int i = 0; i < 200; ++i) {
            auto [first, second] = lease_together(one.to_read_write(host), other.to_read_write(host));
            one.elements_of(first.data()).for_each([](int& each) { ++each; });
        }
    };
    {
        const std::jthread one([&] { count_up(rows, corner); });
        const std::jthread other([&] { count_up(columns, corner); });
    }
    EXPECT_EQ(grid.read(host)[15 * 40 + 25], 400);
    EXPECT_EQ(grid.read(host)[0], 200);
}

TEST(rectangle_handle, joins_a_batch) {
    const space device("debug:0");
    unified_buffer<int> grid({30, 20}, mirrored);
    grid.fill(1);
    grid.read(device).release();
    grid.write(host)[0] = 1;
    rectangle<int> left = grid.view(full_extent, slice{0, 5});
    rectangle<int> right = grid.view(full_extent, slice{15, 20});
    const std::uint64_t before = moved(grid);
    batch together(device);
    together.sync(left.bytes());
    together.sync(right.bytes());
    together.submit();
    EXPECT_EQ(moved(grid) - before, 30 * 10 * sizeof(int));
}

TEST(rectangle_handle, is_copied_to_buffers_and_from_them) {
    const space device("debug:0");
    unified_buffer<int> grid({30, 20}, mirrored);
    std::vector<int> numbers(600);
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>(i);
    grid.copy_from(numbers);
    grid.read_write(device).release();  // the device alone has what is newest
    rectangle<int> part = grid.view(slice{3, 10}, slice{2, 8});
    unified_buffer<int> packed({42}, mirrored);
    packed.read(device).release();
    part.copy_to(packed.bytes());
    EXPECT_EQ(packed.read(host)[41], 9 * 20 + 7);
    rectangle<int> other = grid.view(slice{20, 27}, slice{10, 16});
    other.copy_from(part.bytes());
    EXPECT_EQ(grid.read(host)[20 * 20 + 10], 3 * 20 + 2);
    EXPECT_EQ(grid.read(host)[26 * 20 + 15], 9 * 20 + 7);
    EXPECT_EQ(failure_of([&] { part.copy_to(grid.bytes()); }).code, error_code::out_of_range);
}

TEST(rectangle_handle, with_steps_is_filled_and_copied_at_the_host_that_is_named) {
    const space device("debug:0");
    unified_buffer<int> grid({4, 6}, mirrored);
    grid.fill(1);
    grid.read_write(device).release();
    rectangle<int> odd = grid.view(full_extent, slice{1, 6, 2});
    odd.fill(5, host);
    std::vector<int> elements(12);
    odd.copy_to(elements, host);
    EXPECT_THAT(elements, testing::Each(5));
    elements[11] = 7;
    odd.copy_from(elements, host);
    EXPECT_EQ(grid.read(host)[23], 7);
    EXPECT_EQ(grid.read(host)[22], 1);
    EXPECT_EQ(failure_of([&] { odd.fill(6, device); }).code, error_code::unsupported);
    EXPECT_EQ(failure_of([&] { odd.copy_from(elements, device); }).code, error_code::unsupported);
    EXPECT_EQ(failure_of([&] { odd.copy_to(elements, device); }).code, error_code::unsupported);
}

TEST(rectangle_handle, says_what_is_no_rectangle) {
    unified_buffer<int> grid({30, 20});
    const auto code = [&](const slice& down, const slice& across) {
        return failure_of([&] { static_cast<void>(grid.view(down, across)); }).code;
    };
    EXPECT_EQ(code({0, 31}, full_extent), error_code::out_of_range);
    EXPECT_EQ(code({31}, full_extent), error_code::out_of_range);
    EXPECT_EQ(code({30}, full_extent), error_code::invalid_argument);
    const failure negative = failure_of([&] { static_cast<void>(grid.view(full_extent, -1)); });
    EXPECT_EQ(negative.code, error_code::out_of_range);
    EXPECT_NE(negative.message.find("[-1, 0) along axis 1"), std::string::npos) << negative.message;
    EXPECT_EQ(code({5, 5}, full_extent), error_code::invalid_argument);
    EXPECT_EQ(code({5, 6, 0}, full_extent), error_code::invalid_argument);
    rectangle<int> part = grid.view(slice{1, 3}, slice{1, 3});
    EXPECT_EQ(failure_of([&] { part.bytes().view(0, 4); }).code, error_code::unsupported);
    EXPECT_EQ(failure_of([&] { part.bytes().sync_to_host(0, 4); }).code, error_code::unsupported);
    const rectangle<int> gone = std::move(part);
    EXPECT_EQ(failure_of([&] { part.sync_to_host(); }).code, error_code::invalid_argument);
    EXPECT_EQ(gone.shape(), shape(2, 2));
}

/// What unibuf itself writes to many rows is no write of the program beside bytes that a device has newer.
TEST(a_rectangle_handle, of_many_rows_that_an_access_writes_makes_no_conflict) {
    const space there = fake_device::get({}).where();
    constexpr std::size_t row = 48;
    for (const std::size_t rows : {64U, 65U, 119U}) {
        for (const bool fills : {false, true}) {
            buffer b(rows * row, mirrored);
            std::fill_n(b.host(), rows * row, std::byte{1});
            b.read(there).release();  // what is stored from now on is found
            b.view(725, rows * row / 2).fill(std::vector{std::byte{2}}, there);
            const slice along[] = {full_extent, {0, 8, 1}};
            buffer column = b.view(shape(rows, row), 1, along);
            fills ? column.fill(std::vector{std::byte{3}}, host) : column.copy_from(of(rows * 8, 3));
            bytes expected = of(rows * row, 1);
            std::fill_n(expected.begin() + 725, rows * row / 2, std::byte{2});
            for (std::size_t i = 0; i < rows; ++i) {
                std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(i * row), 8, std::byte{3});
            }
            EXPECT_NO_THROW(EXPECT_TRUE(same(content(b), expected)) << rows);
            const auto lease = b.read(there);
            EXPECT_TRUE(same(seen_now(lease.native()), expected)) << rows;
        }
    }
}

}  // namespace
}  // namespace unibuf::test::rectangle_handle_test
