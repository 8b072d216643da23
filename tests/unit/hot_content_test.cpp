// tests/unit/hot_content_test.cpp: buffers of several pages, some of which are hot, by random steps against an array.
#include <array>
#include <random>
#include <string>

#include "support/fake_device.hpp"
#include "support/seeds.hpp"
#include "tracking/hot_pages.hpp"
#include "unit/common.hpp"

namespace unibuf::test::hot_content_test {
namespace {

constexpr std::size_t size = 5 * 4096 + 100;

/// A buffer whose pages become hot with the first store that is found, and cold with the second look without one.
class hot_content : public testing::TestWithParam<int> {
protected:
    hot_content() {
        tracking::scans_until_hot = 1;
        tracking::scans_until_cold = 2;
    }
    ~hot_content() override {
        tracking::scans_until_hot = 4;
        tracking::scans_until_cold = 64;
    }

    space where() const {
        if (GetParam() == 0) return space("debug:0");
        return fake_device::get(
                   {.aliases = GetParam() == 1, .asynchronous = GetParam() == 2, .addressable = GetParam() == 2})
            .where();
    }

    bool is_fake() const { return GetParam() != 0; }

    bytes read_at(const buffer& from, space at, const access_options& part = {}) const {
        if (at == host || !is_fake()) return content(from, at, part);
        return kernel_read(from.read(at, part).native());
    }

    void write_at(buffer& to, space at, std::span<const std::byte> data, std::size_t offset) const {
        if (at == host || !is_fake()) return put(to, data, at, offset);
        kernel_write(to.write(at, {.offset = offset, .count = data.size()}).native(), 0, data);
    }

    std::size_t below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }
    std::byte any_byte() { return static_cast<std::byte>(below(256)); }

    /// Returns a range; often a small one in the second page.
    byte_range any_range() {
        const std::size_t begin = below(3) == 0 ? below(size) : 4096 + below(4096);
        return {begin, begin + 1 + below(below(4) == 0 ? size - begin : std::min<std::size_t>(size - begin, 64))};
    }

    std::minstd_rand random_{seed(static_cast<unsigned>(GetParam() + 1))};
};

TEST_P(hot_content, is_what_was_written_last) {
    const space device = where();
    buffer b(size);
    bytes model(size);
    for (int step = 0; step < 4000; ++step) {
        const byte_range range = any_range();
        const access_options part{.offset = range.begin, .count = range.size()};
        const auto in_model = std::span(model).subspan(range.begin, range.size());
        switch (below(6)) {
            case 0:
            case 1: {  // the pointer shows what is newest first, so that no store is a conflict
                std::byte* const pointer = b.host();
                for (std::byte& each : in_model) pointer[&each - model.data()] = each = any_byte();
                break;
            }
            case 2:
            case 3:
                for (std::byte& each : in_model) each = any_byte();
                write_at(b, below(2) == 0 ? host : device, in_model, range.begin);
                break;
            case 4:
                b.state();
                break;
            default:
                ASSERT_TRUE(same(read_at(b, below(2) == 0 ? host : device, part), in_model)) << step;
        }
        if (step % 7 == 0) {
            ASSERT_TRUE(same(read_at(b, device), model)) << step;
        }
    }
    EXPECT_TRUE(same(read_at(b, device), model));
    EXPECT_TRUE(same(content(b), model));
}

std::string name_of(const testing::TestParamInfo<int>& which) {
    constexpr std::array names{"debug", "sharing", "asynchronous"};
    return names[static_cast<std::size_t>(which.param)];
}

INSTANTIATE_TEST_SUITE_P(devices, hot_content, testing::Values(0, 1, 2), name_of);

}  // namespace
}  // namespace unibuf::test::hot_content_test
