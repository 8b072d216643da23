// tests/unit/past_cache_test.cpp: copies past the cache are copies, wherever they begin and end.
#include "backends/cuda/past_cache.hpp"

#include <algorithm>
#include <vector>

#include "unit/common.hpp"

namespace unibuf::test::past_cache_test {
namespace {

TEST(copy_past_cache, writes_what_memcpy_does_and_nothing_else) {
    constexpr std::size_t around = 256;
    for (const std::size_t size : {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{10'000}}) {
        for (std::size_t to = 0; to != 70; ++to) {
            for (const std::size_t from : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
                const bytes source = noise(size + from);
                bytes got(size + to + around, std::byte{7});
                backends::cuda::copy_past_cache(got.data() + to, source.data() + from, size);
                bytes wanted(got.size(), std::byte{7});
                std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from), size,
                            wanted.begin() + static_cast<std::ptrdiff_t>(to));
                ASSERT_EQ(got, wanted) << size << " bytes from " << from << " to " << to;
            }
        }
    }
}

}  // namespace
}  // namespace unibuf::test::past_cache_test
