// mpi/message_test.cpp: single messages and broadcasts of buffers and views.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "mpi/grid.hpp"

namespace unibuf::test {
namespace {

using namespace std::chrono_literals;

unified_buffer<int> numbers(std::size_t count, int first) {
    unified_buffer<int> result({count});
    auto all = result.write("debug:0");
    std::iota(all.begin(), all.end(), first);
    return result;
}

TEST(a_message, brings_just_its_bytes_and_writes_just_these) {
    auto mine = numbers(1000, 1000 * rank_of());
    auto theirs = numbers(1000, -1000);
    auto part = theirs.view(10, 300);
    if (rank_of() % 2 == 0) mpi::send(mine.view(500, 300), right(), 5, MPI_COMM_WORLD);
    mpi::recv(part, left(), 5, MPI_COMM_WORLD);
    if (rank_of() % 2 != 0) mpi::send(mine.view(500, 300), right(), 5, MPI_COMM_WORLD);

    EXPECT_EQ(mine.statistics().bytes_moved(), 300 * sizeof(int));
    EXPECT_EQ(theirs.statistics().bytes_moved(), 0);
    const auto got = theirs.read("debug:0");
    EXPECT_EQ(theirs.statistics().bytes_moved(), 300 * sizeof(int));
    for (int i = 0; i < 1000; ++i) {
        const bool in_part = i >= 10 && i < 310;
        EXPECT_EQ(got[static_cast<std::size_t>(i)], in_part ? 1000 * left() + 500 + i - 10 : i - 1000);
    }
}

TEST(a_message, may_be_empty_and_may_go_nowhere) {
    unified_buffer<int> none({0});
    auto some = numbers(3, 1);
    mpi::send(some, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    mpi::recv(some, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    EXPECT_EQ(some.read(host)[2], 3);
    mpi::send(none, right(), 1, MPI_COMM_WORLD);
    mpi::recv(none, left(), 1, MPI_COMM_WORLD);
}

TEST(a_message, that_does_not_come_leaves_the_buffer_as_it_was) {
    auto mine = numbers(4, 7);
    expect_error(error_code::timeout, {"rank " + std::to_string(left()), "tag 9", "in time"},
                 [&] { mpi::recv(mine, left(), 9, MPI_COMM_WORLD, 20ms); });
    EXPECT_EQ(mine.read(host)[3], 10);
    MPI_Barrier(MPI_COMM_WORLD);
    mpi::send(mine, right(), 9, MPI_COMM_WORLD);
    mpi::recv(mine, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, 1min);
}

TEST(a_message, of_another_size_waits_for_who_can_take_it) {
    auto mine = numbers(4, 7);
    unified_buffer<int> small({3});
    mpi::send(mine, right(), 2, MPI_COMM_WORLD);
    expect_error(error_code::invalid_argument, {"12 bytes", "it has 16"},
                 [&] { mpi::recv(small, left(), 2, MPI_COMM_WORLD); });
    mpi::recv(mine, left(), 2, MPI_COMM_WORLD);
    EXPECT_EQ(mine.read(host)[0], 7);
}

TEST(a_message, of_several_pieces_is_refused_and_received_whole) {
    constexpr std::size_t piece = UNIBUF_MPI_PIECE;
    static_assert(piece >= 1000, "single bytes would be sent");
    unified_buffer<std::uint8_t> half({piece / 2}), one({piece}), longer({piece + piece / 2});
    if (rank_of() == 0) {
        longer.fill(7);
        half.fill(9);
        one.fill(3);
        mpi::send(longer, 1, 5, MPI_COMM_WORLD);
        mpi::send(half, 1, 5, MPI_COMM_WORLD);
        mpi::send(one, 1, 6, MPI_COMM_WORLD);
    } else if (rank_of() == 1) {
        const auto size_of_longer = "it has " + std::to_string(longer.size_bytes());
        expect_error(error_code::invalid_argument, {size_of_longer},
                     [&] { mpi::recv(one, 0, 5, MPI_COMM_WORLD, 1min); });
        expect_error(error_code::invalid_argument, {size_of_longer},
                     [&] { mpi::recv(half, 0, 5, MPI_COMM_WORLD, 1min); });
        expect_error(error_code::timeout, {}, [&] { mpi::recv(longer, 0, 7, MPI_COMM_WORLD, 20ms); });
        mpi::recv(longer, 0, 5, MPI_COMM_WORLD, 1min);
        EXPECT_TRUE(std::ranges::all_of(longer.read(host), [](auto byte) { return byte == 7; }));
        mpi::recv(half, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, 1min);
        EXPECT_TRUE(std::ranges::all_of(half.read(host), [](auto byte) { return byte == 9; }));
        expect_error(error_code::invalid_argument, {"it has " + std::to_string(piece)},
                     [&] { mpi::recv(longer, 0, 6, MPI_COMM_WORLD, 1min); });
        mpi::recv(one, 0, MPI_ANY_TAG, MPI_COMM_WORLD, 1min);
        EXPECT_TRUE(std::ranges::all_of(one.read(host), [](auto byte) { return byte == 3; }));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

TEST(a_message, that_was_refused_is_there_for_mpi) {
    auto mine = numbers(4, 7);
    unified_buffer<int> small({3});
    std::array<int, 4> got{};
    MPI_Status coming;
    int bytes = 0;
    mpi::send(mine, right(), 2, MPI_COMM_WORLD);
    expect_error(error_code::invalid_argument, {"it has 16"}, [&] { mpi::recv(small, left(), 2, MPI_COMM_WORLD); });
    MPI_Probe(left(), 2, MPI_COMM_WORLD, &coming);
    MPI_Get_count(&coming, MPI_BYTE, &bytes);
    EXPECT_EQ(bytes, 16);
    MPI_Recv(got.data(), bytes, MPI_BYTE, left(), 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(got[3], 10);
}

TEST(a_message, without_memory_for_it_is_an_error_and_a_broadcast_one_at_all) {
    unified_buffer<std::uint8_t> huge({std::size_t{1} << 62});
    const auto refused = [](auto call) { expect_error(error_code::out_of_memory, {"memory for a message"}, call); };
    refused([&] { mpi::send(huge, right(), 3, MPI_COMM_WORLD); });
    refused([&] { mpi::recv(huge, left(), 3, MPI_COMM_WORLD, 0s); });
    refused([&] { mpi::bcast(huge, 0, MPI_COMM_WORLD); });
}

TEST(a_message, of_leased_bytes_is_refused) {
    auto mine = numbers(4, 7);
    const auto held = mine.write(host);
    expect_error(error_code::access_conflict, {}, [&] { mpi::send(mine, right(), 2, MPI_COMM_WORLD); });
}

TEST(a_broadcast, gives_all_what_the_root_has) {
    auto mine = numbers(1000, 1000 * rank_of());
    mpi::bcast(mine, 1, MPI_COMM_WORLD);
    EXPECT_EQ(mine.read("debug:0")[999], 1999);
    mpi::bcast(mine.view(3, 1), 0, MPI_COMM_WORLD);
    mine.write(host, {.offset = 3, .count = 1})[0] += rank_of();
    auto part = mine.view(3, 1);
    mpi::bcast(part, 1, MPI_COMM_WORLD);
    EXPECT_EQ(part.read(host)[0], 1004);
}

TEST(a_broadcast, of_unequal_sizes_fails_everywhere) {
    auto mine = numbers(rank_of() == 1 ? 5 : 4, 0);
    expect_error(error_code::invalid_argument, {"16 to 20"}, [&] { mpi::bcast(mine, 0, MPI_COMM_WORLD); });
}

TEST(a_broadcast, that_the_root_cannot_make_fails_everywhere) {
    auto mine = numbers(4, rank_of());
    auto held = rank_of() == 0 ? mine.write(host) : lease<int>();
    expect_error(rank_of() == 0 ? error_code::access_conflict : error_code::transfer_failed, {},
                 [&] { mpi::bcast(mine, 0, MPI_COMM_WORLD); });
    held.release();
    mpi::bcast(mine, size_of() - 1, MPI_COMM_WORLD);
    EXPECT_EQ(mine.read(host)[0], size_of() - 1);
}

}  // namespace
}  // namespace unibuf::test
