// tests/contract/opencl_mapped_ranges_test.cpp: which bytes stay mapped, in every state that a few bytes can reach.
#include "backends/opencl/mapped_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace unibuf::contract {
namespace {

namespace cl = backends::cl;

/// Returns what the host has of each byte, worked out byte by byte.
std::vector<cl::mapping> painted(const std::vector<cl::piece>& pieces, std::size_t count) {
    std::vector<cl::mapping> result(count, cl::mapping::none);
    for (const cl::piece& each : pieces)
        std::fill(result.begin() + static_cast<std::ptrdiff_t>(each.begin),
                  result.begin() + static_cast<std::ptrdiff_t>(each.end), each.how);
    return result;
}

/// Returns the pieces after a change, which must unmap what is there and map what is free.
std::vector<cl::piece> changed(std::vector<cl::piece> pieces, const cl::remapping& change) {
    for (const cl::piece& each : change.unmap) {
        const auto found = std::ranges::find(pieces, each);
        EXPECT_NE(found, pieces.end());
        if (found != pieces.end()) pieces.erase(found);
    }
    for (const cl::piece& each : change.map) {
        EXPECT_LT(each.begin, each.end);
        for (const cl::piece& other : pieces) EXPECT_TRUE(each.end <= other.begin || other.end <= each.begin);
        pieces.push_back(each);
    }
    std::ranges::sort(pieces, {}, &cl::piece::begin);
    return pieces;
}

TEST(opencl_mapped_ranges, reach_every_state_right) {
    constexpr std::size_t count = 5;
    std::vector<std::vector<cl::piece>> states = {{{0, count, cl::mapping::write}}};
    for (std::size_t next = 0; next < states.size(); ++next) {
        for (std::size_t begin = 0; begin < count; ++begin) {
            for (std::size_t end = begin + 1; end <= count; ++end) {
                for (const int operation : {0, 1, 2, 3}) {
                    const bool to_host = operation < 2;
                    const cl::mapping how = to_host ? (operation == 0 ? cl::mapping::read : cl::mapping::write)
                                                    : (operation == 2 ? cl::mapping::read : cl::mapping::none);
                    const std::vector<cl::piece> before = states[next];
                    const cl::remapping change =
                        to_host ? cl::for_host(before, begin, end, how) : cl::for_device(before, begin, end, how);
                    const std::vector<cl::piece> after = changed(before, change);

                    std::vector<cl::mapping> wanted = painted(before, count);
                    for (std::size_t i = begin; i < end; ++i) {
                        wanted[i] = to_host ? std::max(wanted[i], how) : std::min(wanted[i], how);
                    }
                    ASSERT_EQ(painted(after, count), wanted);
                    if (std::ranges::find(states, after) == states.end()) states.push_back(after);
                }
            }
        }
    }
    RecordProperty("states", static_cast<int>(states.size()));
    EXPECT_GT(states.size(), 100u);
}

}  // namespace
}  // namespace unibuf::contract
