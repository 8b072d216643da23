// tests/unit/untouched_pages_linux_test.cpp: pages of the host that nobody has touched take no memory.
#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"
#include "unit/common.hpp"

namespace unibuf::test::untouched_pages_test {
namespace {

TEST(untouched_pages, stay_so_beside_a_small_write) {
    const tracking::mechanism found_by = tracking::about();
    if (!found_by.finds_writes || tracking::kernel::is_by_signal()) GTEST_SKIP() << found_by.description;
    constexpr std::size_t size = std::size_t{64} << 20;
    buffer large(size);
    put(large, of(3, 1), host, size / 2);
    const std::byte* const begin = large.read(host).data();
    EXPECT_EQ(begin[size / 2 + 3], std::byte{0});
    std::vector<unsigned char> is_there(size / system::page_size());
    ASSERT_EQ(::mincore(const_cast<std::byte*>(begin), size, is_there.data()), 0);
    const auto pages = std::ranges::count_if(is_there, [](unsigned char each) { return (each & 1) != 0; });
    EXPECT_LE(pages * static_cast<std::ptrdiff_t>(system::page_size()), 8 << 20) << "a huge page or two at most";
    EXPECT_EQ(large.read(host).span().back(), std::byte{0});
}

}  // namespace
}  // namespace unibuf::test::untouched_pages_test
