// unit/rectangle_test.cpp: how rectangles fold, what drivers get, and what a backend gets that knows of none.
#include "backends/rectangle.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "support/bytes.hpp"
#include "support/fake_device.hpp"
#include "support/faults.hpp"
#include "unibuf/error.hpp"

namespace unibuf::rectangle_test {
namespace {

using backends::rectangle_copy;
using backends::slab;
using test::noise;
using test::same;

/// A box of 5 x 6 x 7 elements of 4 bytes in one of 8 x 9 x 10.
rectangle_copy box() {
    rectangle_copy result{.row_bytes = 28, .axes = 2, .counts = {5, 6}};
    result.here = {.offset = 44, .pitches = {360, 40}};
    result.there = result.here;
    return result;
}

TEST(rectangle, counts_its_bytes) {
    EXPECT_EQ(box().rows(), 30u);
    EXPECT_EQ(box().bytes(), 840u);
    EXPECT_EQ(box().span_of(box().here), 4 * 360 + 5 * 40 + 28u);
}

TEST(rectangle, rows_that_lie_together_are_one_row) {
    rectangle_copy whole_rows = box();
    whole_rows.row_bytes = 40;
    EXPECT_EQ(whole_rows.folded().axes, 1u);
    EXPECT_EQ(whole_rows.folded().row_bytes, 240u);
    EXPECT_EQ(whole_rows.folded().counts[0], 5u);

    rectangle_copy all = box();
    all.row_bytes = 40;
    all.counts = {8, 9};
    EXPECT_EQ(all.folded().axes, 0u);
    EXPECT_EQ(all.folded().row_bytes, 2880u);
}

TEST(rectangle, rows_that_lie_together_at_one_end_only_stay_apart) {
    rectangle_copy packed = box();
    packed.there = rectangle_copy::end::without_gaps(28, 2, packed.counts);
    EXPECT_EQ(packed.folded().axes, 2u);
    EXPECT_EQ(packed.folded().there.pitches[0], 168u);
    EXPECT_EQ(packed.folded().there.pitches[1], 28u);
}

TEST(rectangle, axes_of_one_distance_are_one_axis) {
    rectangle_copy column = box();
    column.row_bytes = 4;
    column.counts = {5, 9};  // every row of each plane
    EXPECT_EQ(column.folded().axes, 1u);
    EXPECT_EQ(column.folded().counts[0], 45u);
    column.counts = {1, 1};
    EXPECT_EQ(column.folded().axes, 0u);
    EXPECT_EQ(column.folded().row_bytes, 4u);
}

std::vector<slab> slabs_of(const rectangle_copy& what) {
    std::vector<slab> result;
    for_each_slab(what, [&](const slab& each) { result.push_back(each); });
    return result;
}

TEST(rectangle, a_box_is_one_slab) {
    const std::vector<slab> all = slabs_of(box());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].rows, 6u);
    EXPECT_EQ(all[0].slices, 5u);
    EXPECT_EQ(all[0].here.row_pitch, 40u);
    EXPECT_EQ(all[0].here.slice_pitch, 360u);
    EXPECT_EQ(all[0].here.offset, 44u);
}

TEST(rectangle, planes_that_are_no_whole_rows_apart_are_slabs_of_their_own) {
    rectangle_copy odd = box();
    odd.here.pitches[0] = 361;
    const std::vector<slab> all = slabs_of(odd);
    ASSERT_EQ(all.size(), 5u);
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(all[i].slices, 1u);
        EXPECT_EQ(all[i].here.offset, 44 + i * 361);
        EXPECT_EQ(all[i].there.offset, 44 + i * 360);
        EXPECT_EQ(all[i].here.slice_pitch % all[i].here.row_pitch, 0u);
    }
}

TEST(rectangle, bytes_that_lie_together_are_one_row_of_one_slab) {
    const std::vector<slab> all = slabs_of({.row_bytes = 7, .here = {.offset = 3}, .there = {.offset = 4}});
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].rows * all[0].slices, 1u);
    EXPECT_EQ(all[0].here.row_pitch, 7u);
    EXPECT_EQ(all[0].there.offset, 4u);
}

TEST(rectangle, the_same_bytes_are_not_copied) {
    test::bytes content = noise(4000);
    const test::bytes before = content;
    copy_rows(box(), content.data(), content.data());
    EXPECT_TRUE(same(content, before));
}

/// A backend that knows of none gets the rows.
class rows_of_a_fake : public ::testing::Test {
protected:
    static constexpr std::size_t size = 44 + 4 * 360 + 5 * 40 + 28;

    rows_of_a_fake() : memory_(fake_.allocate({.bytes = size})) {
        memory_->write(0, old_, {}).wait();
        copy_rows(box(), wanted_.data(), new_.data());
    }
    ~rows_of_a_fake() override {
        test::faults::all().disarm();
        fake_.failures.clear();  // others use the fake, too
    }

    test::bytes content() const {
        test::bytes result(size);
        memory_->read(0, result, {}).wait();
        return result;
    }

    test::fake_device& fake_ = test::fake_device::get({.asynchronous = true});
    std::unique_ptr<backends::memory> memory_;
    test::bytes old_ = noise(size, 1);
    test::bytes new_ = noise(size, 2);
    test::bytes wanted_ = old_;
};

TEST_F(rows_of_a_fake, are_written_and_read_when_the_fence_says_so) {
    const fence written = memory_->write_rectangle(box(), new_.data(), {});
    EXPECT_FALSE(written.done());
    EXPECT_TRUE(written.wait(std::chrono::seconds(10)));
    EXPECT_TRUE(written.done());
    EXPECT_TRUE(same(content(), wanted_));
    test::bytes got = old_;
    memory_->read_rectangle(box(), got.data(), {}).wait();
    EXPECT_TRUE(same(got, wanted_));
}

TEST_F(rows_of_a_fake, that_fail_leave_all_other_bytes_and_no_work) {
    bool fired = true;
    for (unsigned call = 1; fired; ++call) {
        memory_->write(0, old_, {}).wait();
        const unsigned before = test::faults::all().fired();
        test::faults::all().arm(call, error_code::transfer_failed, call % 2 == 0);
        try {
            memory_->write_rectangle(box(), new_.data(), {}).wait();
        } catch (const error& failure) {
            EXPECT_EQ(failure.code(), error_code::transfer_failed);
        }
        test::faults::all().disarm();
        fired = test::faults::all().fired() != before;
        EXPECT_FALSE(fake_.queued().uses(*static_cast<test::fake_memory*>(memory_.get()))) << call;
        // The rows hold anything.
        test::bytes got = content();
        copy_rows(box(), got.data(), old_.data());
        EXPECT_TRUE(same(got, old_)) << call;
        ASSERT_LT(call, 1000u);
    }
    EXPECT_TRUE(fake_.misuse.empty());
}

}  // namespace
}  // namespace unibuf::rectangle_test
