// tests/unit/sizes_test.cpp: sizes that nothing has, in the functions of C++ that C does not have, or that have
// elements in the place of bytes. tests/c/sizes.c tries the others, at every space.
#include "unibuf/detail/sizes.hpp"

#include <array>
#include <functional>

#include "pool/size_classes.hpp"
#include "unit/common.hpp"

namespace unibuf::test::sizes_test {
namespace {

constexpr std::size_t largest = static_cast<std::size_t>(-1);
constexpr std::size_t elements = 125;
constexpr std::size_t wraps = largest / 8 + 1 + elements;  // so many of 8 bytes are 1000 bytes, where that wraps
static_assert(wraps * 8 == elements * 8);

// All that may be computed wrongly is computed at compile time.
static_assert(detail::sum(largest, 0) == largest && !detail::sum(largest, 1) && !detail::sum(1, largest));
static_assert(detail::product(largest, 1) == largest && !detail::product(wraps, 8) && detail::product(wraps, 0) == 0);
static_assert(detail::rounded_up(0, 64) == 0 && detail::rounded_up(1, 64) == 64 && detail::rounded_up(64, 64) == 64);
static_assert(detail::rounded_up(largest - 63, 64) == largest - 63 && detail::rounded_up(largest, 64) == largest);
static_assert(detail::lies_within(10, 0, 10) && !detail::lies_within(11, 0, 10) &&
              !detail::lies_within(1, largest, 10));
static_assert(!detail::lies_within(largest, 1, largest) && detail::lies_within(0, largest, largest));
static_assert(detail::class_of(largest) == largest && detail::class_of(largest / 2 + 2) > largest / 2 + 2);

constexpr std::array sizes{largest - 1,     largest - 255, largest / 2 + 1, largest / 2,
                           largest / 4 + 1, wraps,         largest / 8 + 1, std::size_t{1} << 32};

struct row {
    const char* what;
    std::function<void(unified_buffer<double>&, std::size_t)> does;
};

const std::array rows{
    row{"a view at it", [](auto& b, std::size_t n) { b.view(n, 1); }},
    row{"a view of it", [](auto& b, std::size_t n) { b.view(0, n); }},
    row{"a view that wraps", [](auto& b, std::size_t n) { b.view(n, 0 - n); }},
    row{"a lease at it", [](auto& b, std::size_t n) { b.read(host, {.offset = n, .count = 1}); }},
    row{"a lease of it", [](auto& b, std::size_t n) { b.write(host, {.offset = 1, .count = n}); }},
    row{"a lease that is described",
        [](auto& b, std::size_t n) {
            lease_together(b.to_read(host), b.to_read("debug:0", {.offset = 1, .count = n}));
        }},
    row{"a view of the host's copy", [](auto& b, std::size_t n) { b.host_view(1, n); }},
    row{"a view of a copy", [](auto& b, std::size_t n) { b.copy_view("debug:0", n, 1); }},
    row{"a standing hold",
        [](auto& b, std::size_t n) { static_cast<void>(b.bind("debug:0", access::read, {.offset = 1, .count = n})); }},
    row{"to synchronize", [](auto& b, std::size_t n) { b.sync_to_device(1, n); }},
    row{"to mark", [](auto& b, std::size_t n) { b.mark_host_dirty(n, 1); }},
    row{"to mark a space", [](auto& b, std::size_t n) { b.mark_dirty(host, 1, n); }},
    row{"to prefetch", [](auto& b, std::size_t n) { b.prefetch("debug:0", {.offset = 1, .count = n}); }},
    row{"to copy from the program", [](auto& b, std::size_t n) { b.copy_from(std::array{7.0}, n); }},
    row{"to copy to the program",
        [](auto& b, std::size_t n) {
            std::array<double, 1> one{};
            b.copy_to(one, n);
        }},
    row{"to copy past the host", [](auto& b, std::size_t n) { b.copy_from(std::array{7.0}, "debug:0", n); }},
    row{"to copy from a buffer",
        [](auto& b, std::size_t n) {
            unified_buffer<double> one({1});
            b.copy_from(one, n);
        }},
    row{"to copy to a buffer",
        [](auto& b, std::size_t n) {
            unified_buffer<double> one({1});
            one.copy_to(b, n);
        }},
    row{"a batch",
        [](auto& b, std::size_t n) {
            batch all("debug:0");
            all.write(b, std::span<const double>(std::array{7.0}), n);
        }},
    row{"an array", [](auto& b, std::size_t n) { b.bytes().view(shape(n), 8, std::array{slice{0, 1}}); }},
    row{"an array of two axes",
        [](auto& b, std::size_t n) { b.bytes().view(shape(n, 8), 8, std::array{slice{0, 1}, slice{0, 1}}); }},
    row{"an element", [](auto& b, std::size_t n) { b.bytes().view(shape(8), n, std::array{slice{0, 1}}); }},
    row{"the begin of a slice", [](auto& b, std::size_t n) { b.view(slice{n, n + 1}); }},
    row{"the end of a slice", [](auto& b, std::size_t n) { b.view(slice{0, n}); }},
    row{"a buffer", [](auto&, std::size_t n) { unified_buffer<double>({n, std::size_t{1} << 32}); }},
    row{"memory of the program",
        [](auto& b, std::size_t n) {
            if (n <= detail::most_bytes) throw error(error_code::invalid_argument, "which may be so much");
            buffer::over({reinterpret_cast<std::byte*>(b.host()), n}, nullptr);
        }},
    row{"a pool", [](auto&, std::size_t n) { memory_pool().reserve(n, std::size_t{1} << 32); }},
};

TEST(sizes, are_refused_where_nothing_has_them) {
    const std::vector<double> content(elements, 7);
    unified_buffer<double> b({elements});
    b.copy_from(content);
    b.prefetch("debug:0");
    for (const row& each : rows) {
        for (const std::size_t n : sizes) {
            SCOPED_TRACE(std::string(each.what) + ": " + std::to_string(n));
            const error_code got = failure_of([&] { each.does(b, n); }).code;
            EXPECT_TRUE(got == error_code::out_of_range || got == error_code::invalid_argument ||
                        got == error_code::out_of_memory)
                << static_cast<int>(got);
            for (const char* where : {"host", "debug:0"}) {
                std::vector<double> found(elements);
                b.copy_to(found, where);
                EXPECT_EQ(found, content);
            }
        }
    }
}

TEST(sizes, of_steps_wrap_nothing) {
    unified_buffer<double> b({elements});
    for (const std::size_t n : sizes) {
        rectangle<double> one = b.view(slice{3, rest, n});
        EXPECT_EQ(one.size(), 1u);
        one.fill(static_cast<double>(n));
        EXPECT_EQ(b.read(host)[3], static_cast<double>(n));
    }
    for (const std::size_t n : sizes) EXPECT_EQ(b.view(slice{0, 1, n}).shape(), shape(1));
}

/// The buffers of a pool may be larger than any memory, as long as nobody uses one. Their sizes add up to 0 where
/// that wraps, and the pool would hold them for ever.
TEST(sizes, of_pooled_buffers_add_up) {
    memory_pool pool;
    std::vector<buffer> made;
    made.reserve(4);
    for (int i = 0; i < 4; ++i) made.push_back(pool.acquire(largest / 2));
    for (buffer& each : made) pool.release(std::move(each));
    EXPECT_GT(pool.statistics().held_bytes, largest / 2);
    pool.trim(0);
    EXPECT_EQ(pool.statistics().held, 0u);
    EXPECT_EQ(pool.statistics().held_bytes, 0u);
}

/// What is not touched takes no memory: a claim may be larger than the machine's.
TEST(sizes, that_may_be_had_one_day_are_claimed) {
    constexpr std::size_t claimed = std::size_t{1} << 48;
    buffer large(claimed);
    EXPECT_EQ(large.view(claimed - 1, 1).size_bytes(), 1u);
    memory_pool pool;
    pool.release(pool.acquire(claimed));
    EXPECT_EQ(pool.statistics().held_bytes, claimed);
}

}  // namespace
}  // namespace unibuf::test::sizes_test
