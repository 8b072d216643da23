// tests/unit/tracking_pages.hpp: pages that are watched by the kernel, for its tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "system/pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/watch.hpp"

namespace unibuf {

inline void PrintTo(const byte_range& range, std::ostream* out) {
    *out << '[' << range.begin << ", " << range.end << ')';
}

}  // namespace unibuf

namespace unibuf::tracking::test {

using ranges = std::vector<byte_range>;

inline const std::size_t page = system::page_size();

/// Pages of the process's own, which start as zero.
class mapping {
public:
    explicit mapping(std::size_t bytes)
        : bytes_(bytes), address_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        if (address_ == MAP_FAILED) std::abort();
    }
    ~mapping() { ::munmap(address_, bytes_); }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;

    std::byte* data() const noexcept { return static_cast<std::byte*>(address_); }
    std::span<std::byte> span() const noexcept { return {data(), bytes_}; }

private:
    std::size_t bytes_;
    void* address_;
};

inline ranges scan(watch& of, byte_range range) {
    ranges found;
    of.scan(range, {}, found);
    return found;
}

inline ranges touched(watch& of, byte_range range) {
    ranges found;
    of.touched(range, found);
    return found;
}

/// Returns the ranges in order, with each byte once.
inline ranges joined(ranges all) {
    std::ranges::sort(all, {}, &byte_range::begin);
    ranges result;
    for (const byte_range& each : all) {
        if (!result.empty() && each.begin <= result.back().end) {
            result.back().end = std::max(result.back().end, each.end);
        } else {
            result.push_back(each);
        }
    }
    return result;
}

inline byte_range pages(std::size_t first, std::size_t count) { return {first * page, (first + count) * page}; }

/// Watches pages. Skips the test where the kernel refuses.
class page_watch : public ::testing::Test {
protected:
    static constexpr std::size_t count = 64;

    void SetUp() override {
        if (!about().finds_writes) GTEST_SKIP() << about().description;
        by_ = make_watch(memory_.span(), own_pages::all);
        ASSERT_TRUE(by_);
    }

    byte_range whole() const { return {0, memory_.span().size()}; }
    void scan_while_others_write();

    mapping memory_{count * page};
    std::unique_ptr<watch> by_;
};

}  // namespace unibuf::tracking::test
