// tests/unit/neighbours_test.cpp: threads that have neighbouring parts of one page, or of one line.
#include <algorithm>
#include <array>
#include <barrier>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/sanitizers.hpp"
#include "support/seeds.hpp"
#include "tracking/hot_pages.hpp"
#include "unit/common.hpp"

namespace unibuf::test::neighbours_test {
namespace {

/// How the memory lies of which each thread has a part. The parts meet at no bound of a page or of a line.
struct layout {
    const char* name;
    std::size_t bytes;
    byte_range parts;         // of all threads, side by side
    bool given = false;       // memory of the program, which begins and ends within pages
    unsigned until_hot = 4;   // scans
    unsigned until_cold = 8;  // scans

    friend void PrintTo(const layout& of, std::ostream* out) { *out << of.name; }
};

constexpr std::array layouts{layout{"one_line", 64, {1, 61}},
                             layout{"some_lines", 900, {30, 830}},
                             layout{"a_page", 5 * 4096, {8192 - 250, 8192 + 650}},
                             layout{"hot_pages", 5 * 4096, {8192 - 250, 8192 + 650}, false, 1},
                             layout{"pages_that_get_cold", 5 * 4096, {8192 - 250, 8192 + 650}, false, 1, 1},
                             layout{"an_edge", 9 * 4096, {100, 1300}, true}};

constexpr int threads = 3;

/// Returns the debug device, and beside it one that does its work later, where there is one.
std::vector<space> devices() {
    std::vector<space> result{space("debug:0")};
    try {
        result.emplace_back("opencl:0");
    } catch (const error&) {  // there is none
    }
    return result;
}

/// One of the threads, which knows what its part holds. Two values only: what comes and goes is there again soon.
class neighbour {
public:
    neighbour(buffer& of, std::byte* pointer, byte_range at, unsigned number)
        : all_(of.view(0, rest)),
          pointer_(pointer),
          at_(at),
          random_(seed(number)),
          wanted_(at.size(), std::byte{0}),
          is_at_host_(true) {}

    /// Returns what went wrong, or nothing.
    std::string step() {
        const access_options own{.offset = at_.begin, .count = at_.size()};
        const space device = devices_[below(devices_.size())];
        const std::size_t first = below(at_.size());
        const access_options some{.offset = at_.begin + first, .count = 1 + below(at_.size() - first)};
        const std::byte value = static_cast<std::byte>(1 + below(2));
        const auto set = [&](const access_options& part) {
            std::fill_n(wanted_.begin() + static_cast<std::ptrdiff_t>(part.offset - at_.begin), part.count, value);
        };
        switch (below(6)) {
            case 0:
            case 1:  // a store, which nobody is told of; where a device has newer content it would be a conflict
                if (!is_at_host_) static_cast<void>(all_.read(host, own));
                is_at_host_ = true;
                set(some);
                std::fill_n(pointer_ + some.offset, some.count, value);
                return {};
            case 2:
                all_.view(some.offset, some.count).fill(std::span(&value, 1), device);
                is_at_host_ = false;
                set(some);
                return {};
            case 3:
                std::ranges::fill(all_.write(host, some).span(), value);
                set(some);
                return {};
            case 4:
                return compare(device);
            default:
                is_at_host_ = true;
                return compare(host);
        }
    }

private:
    std::size_t below(std::size_t limit) { return random_() % limit; }

    std::string compare(space where) {
        static_cast<void>(all_.read(where, {.offset = at_.begin, .count = at_.size()}));
        bytes found(at_.size());
        all_.view(at_.begin, at_.size()).copy_to(std::span(found), where);
        const auto [is, should] = std::ranges::mismatch(found, wanted_);
        if (is == found.end()) return {};
        return "byte " + std::to_string(at_.begin + static_cast<std::size_t>(is - found.begin())) + " at " +
               where.name() + " is " + std::to_string(int(*is)) + ", not " + std::to_string(int(*should));
    }

    buffer all_;
    std::byte* pointer_;
    byte_range at_;
    std::mt19937_64 random_;
    bytes wanted_;
    bool is_at_host_;
    std::vector<space> devices_ = devices();
};

class neighbours : public testing::TestWithParam<layout> {
protected:
    neighbours() {
        tracking::scans_until_hot = GetParam().until_hot;
        tracking::scans_until_cold = GetParam().until_cold;
    }
    ~neighbours() override {
        tracking::scans_until_hot = 4;
        tracking::scans_until_cold = 64;
    }
};

/// Nothing that one of them does, and no look that it causes, hides a store of another one.
TEST_P(neighbours, find_all_that_each_of_them_stores) {
    if (has_thread_sanitizer) GTEST_SKIP() << "a store beside bytes that are sent with it is a race to it";
    const unsigned steps = has_address_sanitizer ? 500 : 3000;
    const layout& of = GetParam();
    std::vector<std::byte> given(of.given ? of.bytes + 1 : 0);
    buffer all = of.given ? buffer::over(std::span(given).subspan(1), nullptr) : buffer(of.bytes);
    std::byte* const pointer = all.host();
    std::barrier begin(threads);
    std::array<std::string, threads> wrong;
    std::vector<std::jthread> running;
    for (unsigned i = 0; i < threads; ++i) {
        const auto bound = [&](unsigned k) { return of.parts.begin + of.parts.size() * k / threads; };
        running.emplace_back([&, i, at = byte_range{bound(i), bound(i + 1)}] {
            neighbour one(all, pointer, at, i);
            begin.arrive_and_wait();
            for (unsigned k = 0; k < steps && wrong[i].empty(); ++k) {
                try {
                    wrong[i] = one.step();
                } catch (const error& failure) {
                    wrong[i] = failure.what();
                }
            }
        });
    }
    running.clear();
    for (const std::string& each : wrong) EXPECT_EQ(each, "");
}

INSTANTIATE_TEST_SUITE_P(in, neighbours, testing::ValuesIn(layouts),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace unibuf::test::neighbours_test
