// tests/unit/hot_pages_test.cpp: pages that are written again and again, which are compared and not protected.
#include <cstring>

#include "tracking/hot_pages.hpp"
#include "tracking_pages.hpp"

namespace unibuf::tracking::test::hot_pages_test {
namespace {

class a_hot_page : public page_watch {
protected:
    ~a_hot_page() override {
        scans_until_hot = 4;
        scans_until_cold = 64;
    }

    void SetUp() override {
        page_watch::SetUp();
        if (!IsSkipped()) by_->arm(whole());
    }

    void store(std::size_t in_page, int value) { std::memset(memory_.data() + in_page * page + 7, value, 1); }

    static byte_range stored(std::size_t in_page) { return {in_page * page, in_page * page + compared_piece::line}; }

    byte_ranges compared() {
        by_->leave_to_kernel(whole(), [](byte_range) { return false; });
        return by_->compared(whole());
    }

    /// Writes a page until it is hot.
    void heat(std::size_t which) {
        for (int i = 1; i <= 4; ++i) {
            store(which, i);
            EXPECT_EQ(scan(*by_, whole()), ranges{pages(which, 1)}) << i;
        }
        EXPECT_EQ(compared(), byte_ranges(pages(which, 1)));
    }
};

TEST_F(a_hot_page, is_one_that_was_found_in_four_scans_in_a_row) {
    for (int i = 1; i <= 3; ++i) {
        store(5, i);
        EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});
    }
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    for (int i = 1; i <= 3; ++i) {
        store(5, i);
        EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});
    }
    EXPECT_TRUE(compared().empty());
    store(5, 4);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});
    EXPECT_EQ(compared(), byte_ranges(pages(5, 1)));
}

TEST_F(a_hot_page, is_found_where_it_has_changed_and_so_are_others) {
    heat(5);
    EXPECT_FALSE(by_->any_written(whole()));
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    store(5, 4);  // is the value that is there
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    store(5, 9);
    EXPECT_TRUE(by_->any_written(whole()));
    EXPECT_TRUE(by_->any_written(pages(5, 1)));
    EXPECT_FALSE(by_->any_written(pages(6, 10)));
    store(4, 1);
    store(6, 1);
    EXPECT_EQ(joined(scan(*by_, whole())), (ranges{{4 * page, stored(5).end}, pages(6, 1)}));
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    store(5, 1);
    EXPECT_EQ(scan(*by_, pages(0, 5)), ranges{});
    EXPECT_EQ(scan(*by_, {6 * page - 2, 6 * page - 1}), ranges{stored(5)}) << "all of the page is looked at";
}

TEST_F(a_hot_page, is_protected_again_where_nobody_writes_it_for_long) {
    scans_until_cold = 3;
    heat(5);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(scan(*by_, whole()), ranges{});
    EXPECT_TRUE(compared().empty());
    store(5, 4);  // is the value that is there, and is found by pages
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});
}

TEST_F(a_hot_page, that_was_written_when_it_was_to_be_protected_is_found) {
    scans_until_cold = 1;
    heat(5);
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    store(5, 9);
    EXPECT_EQ(scan(*by_, whole()), ranges{stored(5)});
    EXPECT_TRUE(compared().empty());
    EXPECT_EQ(scan(*by_, whole()), ranges{});
}

TEST_F(a_hot_page, is_none_once_it_is_armed_or_disarmed) {
    heat(5);
    store(5, 9);
    by_->arm(pages(5, 1));
    EXPECT_TRUE(compared().empty());
    EXPECT_EQ(scan(*by_, whole()), ranges{});
    store(5, 9);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});

    by_->arm(whole());
    heat(7);
    by_->disarm({7 * page, 7 * page + 10});  // is rounded inwards
    EXPECT_EQ(compared(), byte_ranges(pages(7, 1)));
    by_->disarm(pages(7, 1));
    EXPECT_TRUE(compared().empty());
}

TEST_F(a_hot_page, may_be_compared_for_another_reason_too) {
    scans_until_hot = 2;
    scans_until_cold = 2;
    ranges before;
    by_->compare(pages(5, 1), before);
    EXPECT_EQ(before, ranges{});
    for (const int value : {1, 2, 3}) {
        store(5, value);
        EXPECT_EQ(scan(*by_, whole()), ranges{stored(5)});
    }
    EXPECT_EQ(compared(), byte_ranges(pages(5, 1))) << "it is hot";
    for (int i = 0; i < 3; ++i) EXPECT_EQ(scan(*by_, whole()), ranges{});
    EXPECT_EQ(compared(), byte_ranges());
    store(5, 4);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(5, 1)});
}

TEST_F(a_hot_page, is_one_of_few) {
    scans_until_hot = 1;
    store(3, 1);
    store(9, 1);
    EXPECT_EQ(joined(scan(*by_, whole())), (ranges{pages(3, 1), pages(9, 1)}));
    EXPECT_TRUE(compared().empty()) << "a memory of this size has one at most, and two were written";
    store(9, 2);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(9, 1)});
    store(3, 2);
    EXPECT_EQ(scan(*by_, whole()), ranges{pages(3, 1)});
    EXPECT_EQ(compared(), byte_ranges(pages(9, 1)));
}

TEST_F(a_hot_page, may_have_a_part_of_a_page_of_the_buffer) {
    const std::size_t bytes = 3 * page + 11;
    by_.reset();
    by_ = make_watch(memory_.span().first(bytes), own_pages::all);
    ASSERT_TRUE(by_);
    by_->arm({0, bytes});
    for (int i = 1; i <= 9; ++i) {
        std::memset(memory_.data() + bytes - 1, i, 1);
        EXPECT_TRUE(by_->any_written({0, bytes})) << i;
        EXPECT_EQ(scan(*by_, {0, bytes}), (ranges{{3 * page, bytes}})) << i;
    }
    EXPECT_EQ(compared(), byte_ranges(byte_range{3 * page, bytes}));
}

TEST_F(a_hot_page, misses_no_write_while_others_write) {
    scans_until_hot = 1;
    scans_until_cold = 1;
    scan_while_others_write();
}

}  // namespace
}  // namespace unibuf::tracking::test::hot_pages_test
