// tests/unit/typed_buffer_test.cpp: element type and shape in front of the bytes.
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "unit/common.hpp"

namespace unibuf::test::typed_buffer_test {
namespace {

struct pixel {
    std::uint8_t r, g, b;
    friend bool operator==(const pixel&, const pixel&) = default;
};
static_assert(sizeof(pixel) == 3);

template <class T>
std::vector<T> elements(const unified_buffer<T>& from, space where = host) {
    const auto lease = from.read(where);
    return {lease.begin(), lease.end()};
}

TEST(a_shape, counts_row_major_elements) {
    EXPECT_EQ(shape().rank(), 0u);
    EXPECT_EQ(shape().elements(), 1u);
    const shape image(480, std::size_t{640}, 3u);
    EXPECT_EQ(image.rank(), 3u);
    EXPECT_EQ(image.elements(), 480u * 640 * 3);
    EXPECT_EQ(image[1], 640u);
    EXPECT_EQ(image, shape::of(std::vector<long>{480, 640, 3}));
    EXPECT_NE(image, shape(480, 640));
    EXPECT_EQ(shape(7, 0, 5).elements(), 0u);
    EXPECT_EQ(shape(1, 1, 1, 1, 1, 1, 1, 2).elements(), 2u);
    const shape largest(std::size_t{1} << 32, (std::size_t{1} << 32) - 1);
    EXPECT_EQ(largest.elements(), 0u - (std::size_t{1} << 32));
    EXPECT_EQ(std::accumulate(image.extents().begin(), image.extents().end(), std::size_t{0}), 480u + 640 + 3);
    static_assert(shape(2, 3).elements() == 6);
}

TEST(a_typed_buffer, is_made_of_a_shape) {
    EXPECT_EQ((unified_buffer<float>({480, 640}).size()), 480u * 640);
    EXPECT_EQ((unified_buffer<float>({480, 640}).size_bytes()), 480u * 640 * 4);
    EXPECT_EQ((unified_buffer<pixel>({5}).size_bytes()), 15u);
    EXPECT_EQ((unified_buffer<double>(shape()).size()), 1u);
    EXPECT_EQ((unified_buffer<double>({3, 0}).size_bytes()), 0u);
    EXPECT_EQ((unified_buffer<double>({std::size_t{3}, std::size_t{2}}).shape()), shape(3, 2));
    const std::vector<int> extents = {2, 3, 4};
    EXPECT_EQ((unified_buffer<int>(shape::of(extents)).size()), 24u);
}

TEST(a_typed_buffer, is_a_span_of_elements) {
    const space device("debug:0");
    unified_buffer<pixel> b({10, 10});
    {
        auto w = b.write(host);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = {static_cast<std::uint8_t>(i), 1, 2};
    }
    std::uint8_t next = 0;
    for (const pixel& each : b.read(device)) EXPECT_EQ(each, (pixel{next++, 1, 2}));
    EXPECT_EQ(next, 100u);
    b.read_write(device)[99].g = 7;
    EXPECT_EQ(b.read(host)[99], (pixel{99, 7, 2}));
    EXPECT_EQ(std::as_const(b).host()[98], (pixel{98, 1, 2}));
    b.host()[98].b = 9;
    EXPECT_EQ(b.read(device)[98], (pixel{98, 1, 9}));
}

TEST(a_typed_buffer, counts_elements_not_bytes) {
    const space device("debug:0");
    const default_device_is device_is_default(device);
    unified_buffer<double> b({100});
    b.write(host).release();
    const auto moved = [&] { return b.statistics().bytes_moved() / sizeof(double); };
    EXPECT_EQ(b.read(device, {.offset = 10, .count = 5}).size(), 5u);
    EXPECT_EQ(moved(), 5u);
    b.sync_to_device(20, 10);
    EXPECT_EQ(moved(), 15u);
    b.prefetch(device, {.offset = 95});
    EXPECT_EQ(moved(), 20u);
    b.mark_device_dirty(96, 2);
    b.sync_to_host(90, 7);
    EXPECT_EQ(moved(), 21u);
    b.mark_host_dirty(10, 1);
    b.mark_dirty(host, 11, 2);
    b.sync_to_device(0, 20);
    EXPECT_EQ(moved(), 21u + 18u) << "elements 0 to 12 and 15 to 19";
    EXPECT_EQ(b.view(40, 20).device().bytes, 160u);
    EXPECT_EQ(b.view(40, 20).device().offset, 320u);
}

TEST(a_typed_buffer, is_filled_with_an_element) {
    const auto check = []<class T>(const T& value) {
        for (const space where : {host, space("debug:0")}) {
            unified_buffer<T> b({7, 3});
            b.write(where).release();
            b.fill(value);
            EXPECT_EQ(b.statistics().bytes_moved(), 0u);
            EXPECT_EQ(elements(b), std::vector<T>(21, value)) << sizeof(T);
        }
    };
    check(std::uint8_t{200});
    check(std::int16_t{-2});
    check(pixel{1, 2, 3});
    check(3.5f);
    check(-1e300);
    check(std::array<int, 3>{1, 2, 3});
    check(std::array<double, 2>{1, 2});
    check(std::array<char, 61>{"a pattern of its own length"});
}

TEST(a_typed_buffer, copies_from_and_to_arrays) {
    unified_buffer<int> b({10});
    b.copy_from(std::vector<int>{1, 2, 3}, 4);
    std::array<int, 5> out{};
    b.copy_to(out, 3);
    EXPECT_EQ(out, (std::array<int, 5>{0, 1, 2, 3, 0}));
}

TEST(a_typed_buffer, has_views_of_one_axis) {
    const space device("debug:0");
    unified_buffer<int> b({10, 10});
    auto row = b.view(30, 10);
    EXPECT_EQ(row.shape(), shape(10));
    row.fill(3);
    b.read_write(device, {.offset = 35, .count = 1})[0] = 4;
    EXPECT_EQ(elements(row), (std::vector<int>{3, 3, 3, 3, 3, 4, 3, 3, 3, 3}));
    EXPECT_EQ(row.bytes().id(), b.bytes().id());
    EXPECT_EQ(row.view(10, 0).size(), 0u);
}

TEST(a_typed_buffer, has_views_to_its_end) {
    unified_buffer<int> b({10, 10});
    const auto tail = b.view(90, rest);
    EXPECT_EQ(tail.size(), 10u);
    EXPECT_EQ(tail.shape(), shape(10));
    EXPECT_EQ(tail.size_bytes(), 40u);
    EXPECT_EQ(tail.read(host).size(), 10u);
}

TEST(a_typed_buffer, is_its_bytes) {
    unified_buffer<std::uint32_t> b({2});
    put(b.bytes(), of(8, 0x11));
    EXPECT_EQ(elements(b), (std::vector<std::uint32_t>{0x11111111, 0x11111111}));
    EXPECT_EQ(b.state(), b.bytes().state());
}

TEST(a_typed_buffer, moves_as_a_handle) {
    unified_buffer<int> b({4});
    b.fill(5);
    unified_buffer<int> taken(std::move(b));
    unified_buffer<int> other({1});
    other = std::move(taken);
    EXPECT_EQ(elements(other), std::vector<int>(4, 5));
    EXPECT_EQ(other.shape(), shape(4));
}

}  // namespace
}  // namespace unibuf::test::typed_buffer_test
