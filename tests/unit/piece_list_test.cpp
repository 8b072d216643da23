// tests/unit/piece_list_test.cpp: a list in chunks beside a plain one.
#include "containers/piece_list.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace unibuf::piece_list_test {
namespace {

constexpr std::size_t last = 1000;

struct piece {
    std::size_t begin;
    friend bool operator==(const piece&, const piece&) = default;
};
using small_chunks = piece_list<piece, 4>;

RC_GTEST_PROP(a_piece_list, is_as_a_plain_list, ()) {
    std::vector<piece> plain{{0}};
    small_chunks tried(plain);
    for (int i = *rc::gen::inRange(1, 200); i > 0; --i) {
        const std::size_t offset = *rc::gen::inRange<std::size_t>(0, last);
        const auto found = std::ranges::upper_bound(plain, offset, {}, &piece::begin) - 1;
        const auto at = tried.at(offset);
        RC_ASSERT(*at == *found);
        if (*rc::gen::inRange(0, 5) != 0) {
            if (found->begin == offset) continue;
            tried.insert_behind(at, {offset});
            plain.insert(found + 1, {offset});
        } else {
            auto first = found;
            auto gone = at;
            ++gone;
            ++first;
            auto end = first + *rc::gen::inRange<std::ptrdiff_t>(0, plain.end() - first + 1);
            tried.erase(gone, std::next(gone, end - first));
            plain.erase(first, end);
        }
        RC_ASSERT(tried.size() == plain.size());
        RC_ASSERT(std::ranges::equal(tried, plain));
        RC_ASSERT(tried == small_chunks(plain));
    }
}

TEST(a_piece_list, made_of_many_is_searched) {
    std::vector<piece> plain;
    for (std::size_t begin = 0; begin < last; begin += 3) plain.push_back({begin});
    const piece_list<piece> tried(plain);
    for (std::size_t offset = 0; offset < last; ++offset) EXPECT_EQ(tried.at(offset)->begin, offset / 3 * 3);
}

struct counted {
    explicit counted(std::size_t at) : begin(at) {}
    counted(counted&& other) noexcept : begin(other.begin) { ++moves; }
    counted& operator=(counted&& other) noexcept {
        begin = other.begin;
        ++moves;
        return *this;
    }
    ~counted() = default;

    static inline std::size_t moves = 0;
    std::size_t begin;
};

TEST(a_piece_list, moves_few_pieces_for_one_more) {
    constexpr std::size_t many = 20'000;
    piece_list<counted> tried;
    tried.start(counted(0));
    for (std::size_t i = 1; i < many; ++i) {
        const std::size_t begin = i * 7919 % many;  // in no order
        counted::moves = 0;
        tried.insert_behind(tried.at(begin), counted(begin));
        ASSERT_LT(counted::moves, 200u) << i;
    }
    std::size_t next = 0;
    for (const counted& each : tried) ASSERT_EQ(each.begin, next++);
    EXPECT_EQ(next, many);
}

}  // namespace
}  // namespace unibuf::piece_list_test
