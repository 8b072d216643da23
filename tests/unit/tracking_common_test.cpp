// tests/unit/tracking_common_test.cpp: watches of parts of a mapping, and of memory that was used before.
#include <sys/mman.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tracking_pages.hpp"

namespace unibuf::tracking::test::tracking_common_test {
namespace {

class common_mapping : public page_watch {
protected:
    std::unique_ptr<watch> watch_of(byte_range part) const {
        return make_watch(memory_.span().subspan(part.begin, part.size()), own_pages::all, memory_.span());
    }

    std::byte* at(std::size_t page_index) const { return memory_.data() + page_index * page; }

    mapping memory_{64 * page};
};

TEST_F(common_mapping, is_not_cut) {
    const auto lines = [] {
        std::ifstream maps("/proc/self/maps");
        std::size_t result = 0;
        for (std::string line; std::getline(maps, line);) ++result;
        return result;
    };
    std::vector<std::unique_ptr<watch>> all(64);
    const std::size_t before = lines();
    for (std::size_t i = 0; i < all.size(); i += 2) {
        all[i] = watch_of(pages(i, 1));
        all[i]->arm({0, page});
    }
    EXPECT_LE(lines(), before + all.size() / 4);  // an allocator maps a few, and 32 cuts make more
}

TEST_F(common_mapping, watches_do_not_disturb_each_other) {
    const auto first = watch_of(pages(0, 2));
    auto second = watch_of(pages(2, 2));
    first->arm({0, 2 * page});
    second->arm({0, 2 * page});
    *at(3) = std::byte{1};
    EXPECT_EQ(scan(*first, {0, 2 * page}), ranges{});
    EXPECT_EQ(scan(*second, {0, 2 * page}), ranges{pages(1, 1)});
    second.reset();
    *at(1) = std::byte{1};
    EXPECT_EQ(scan(*first, {0, 2 * page}), ranges{pages(1, 1)});
}

TEST_F(common_mapping, what_was_given_back_to_the_system_is_fresh) {
    for (const bool armed_still : {false, true}) {
        auto before = watch_of(pages(0, 8));
        before->arm({0, 8 * page});  // arms pages, too, that are not there yet
        std::memset(at(2), 1, 2 * page);
        if (!armed_still) before.reset();
        ASSERT_EQ(::madvise(at(0), 8 * page, MADV_DONTNEED), 0);
        const auto after = watch_of(pages(0, 8));
        EXPECT_EQ(touched(*after, {0, 8 * page}), ranges{});
        *at(5) = std::byte{1};
        ranges found;
        after->arm_fresh({0, 8 * page}, found);
        EXPECT_EQ(joined(found), ranges{pages(5, 1)});
        *at(6) = std::byte{1};
        EXPECT_EQ(scan(*after, {0, 8 * page}), ranges{pages(6, 1)});
    }
}

TEST_F(common_mapping, of_used_memory_what_is_touched_is_told_by_contents) {
    std::memset(at(0), 1, 8 * page);
    std::memset(at(0), 0, 8 * page);
    const auto watch = watch_of({0, 7 * page + 100});
    watch->was_used();
    EXPECT_EQ(touched(*watch, {0, 7 * page + 100}), ranges{});
    at(1)[page - 1] = std::byte{1};
    at(2)[0] = std::byte{1};
    at(7)[99] = std::byte{1};
    EXPECT_EQ(touched(*watch, {0, 7 * page + 100}), (ranges{pages(1, 2), {7 * page, 7 * page + 100}}));
    EXPECT_EQ(touched(*watch, {2 * page + 5, 3 * page}), ranges{pages(2, 1)});
    ranges found;
    watch->arm_fresh({0, 4 * page}, found);
    EXPECT_EQ(found, ranges{pages(1, 2)});
    *at(3) = std::byte{0};
    EXPECT_EQ(scan(*watch, {0, 4 * page}), ranges{pages(3, 1)});
}

}  // namespace
}  // namespace unibuf::tracking::test::tracking_common_test
