// mpi/failure_test.cpp: what does not fit is found by all, and nothing is lost where a halo fails.
#include <optional>
#include <thread>

#include "mpi/grid.hpp"

namespace unibuf::test {
namespace {

using namespace std::chrono_literals;

bool is_odd() { return rank_of() == 1; }

/// A line of four cells and two ghosts, cut among all.
unified_buffer<int> line() {
    unified_buffer<int> result({6});
    result.fill(rank_of());
    return result;
}

const mpi::halo_options ring{.ghosts = {1}, .periodic = {true}};

void expect_exchanged(const unified_buffer<int>& of) {
    const auto got = of.read(host);
    EXPECT_EQ(got[0], left());
    EXPECT_EQ(got[5], right());
}

template <class... T>
void expect_refused(std::initializer_list<std::string> words, const mpi::halo_options& options,
                    unified_buffer<T>&... fields) {
    expect_error(error_code::invalid_argument, words, [&] { mpi::halo(MPI_COMM_WORLD, options, fields...); });
}

TEST(a_mismatch, of_extents_is_found_by_all) {
    unified_buffer<int> field({6, is_odd() ? 11 : 10});
    expect_refused({"rank 1: ", "11 elements along axis 1", "rank 0 has 10"}, {.ghosts = {1}}, field);
    expect_refused({"elements along axis 1; what comes from there has "}, {.ghosts = {1, 1}, .ranks = {0, 1}}, field);
}

TEST(a_mismatch, of_ghosts_is_found_by_all) {
    auto field = line();
    expect_refused({"rank 1: ", "2 ghosts", "rank 0 has 1"}, {.ghosts = {is_odd() ? 2u : 1u}}, field);
}

TEST(a_mismatch, of_elements_and_fields_is_found_by_all) {
    auto field = line();
    unified_buffer<double> wide({6});
    const auto refused = [&](auto& mine) {
        expect_refused({"rank 1: ", "elements of 8 bytes; at rank 0, of 4"}, ring, mine);
    };
    is_odd() ? refused(wide) : refused(field);
    std::initializer_list<std::string> said = {"rank 1: ", "2 fields", "rank 0 has 1, 1"};
    is_odd() ? expect_refused(said, ring, field, field) : expect_refused(said, ring, field);
}

TEST(a_mismatch, of_options_is_found_by_all) {
    auto field = line();
    expect_refused({"rank 1: ", ", periodic; at rank 0, among 0"}, {.periodic = {is_odd()}}, field);
    expect_refused({"rank 1: ", "exchanges corners"}, {.corners = is_odd()}, field);
}

TEST(a_mismatch, of_a_field_that_is_none_at_one_process_is_found_by_all) {
    auto field = line();
    if (is_odd()) const auto elsewhere = std::move(field);
    expect_refused({"rank 1: "}, {.ghosts = {1}}, field);
}

TEST(a_halo, needs_enough_cells_and_axes) {
    auto field = line();
    unified_buffer<int> flat({6, 6});
    expect_refused({"three times as many"}, {.ghosts = {3}}, field);
    expect_refused({"three times as many"}, {.ghosts = {is_odd() ? 3u : 1u}}, field);
    expect_refused({"more axes than the fields"}, {.ghosts = {1, 1}}, field);
    expect_refused({"along 0"}, {.ghosts = {0}}, field);
    expect_refused({"one shape"}, {.ghosts = {1}}, field, flat);
    expect_refused({"cannot be arranged"}, {.ranks = {size_of() + 1}}, field);
    expect_refused({"cut among 2 processes, with 0 ghosts"}, {.ghosts = {1, 0}, .ranks = {0, 2}}, flat);
}

TEST(a_halo, takes_the_topology_that_the_program_has) {
    const int size = size_of(), periodic = 1;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &comm);
    auto field = line();
    unified_buffer<int> flat({6, 6});
    expect_error(error_code::invalid_argument, {"topology of 1 axes", "along 2"},
                 [&] { mpi::halo(comm, {.ghosts = {1, 1}}, flat); });
    mpi::halo edges(comm, {}, field);
    MPI_Comm_free(&comm);
    edges.exchange();
    expect_exchanged(field);
    EXPECT_EQ(edges.ranks()[0], size_of());
    EXPECT_EQ(edges.coordinates()[0], rank_of());
    EXPECT_EQ(edges.statistics().neighbours[0].direction, std::vector<int>{-1});
    EXPECT_EQ(edges.statistics().neighbours[0].rank, left());
}

TEST(a_halo, whose_side_is_leased_begins_nothing) {
    auto field = line();
    mpi::halo edges(MPI_COMM_WORLD, ring, field);
    auto held = field.write(host, {.offset = 4, .count = 1});
    expect_error(error_code::access_conflict, {}, [&] { edges.begin(); });
    expect_error(error_code::invalid_argument, {"none has begun"}, [&] { edges.finish(); });
    held[0] = rank_of();
    held.release();
    edges.exchange();
    expect_exchanged(field);
    EXPECT_EQ(edges.statistics().exchanges, 1);
}

TEST(a_halo, whose_ghost_is_leased_can_finish_later) {
    auto field = line();
    mpi::halo edges(MPI_COMM_WORLD, ring, field);
    edges.begin();
    expect_error(error_code::invalid_argument, {"has not been finished"}, [&] { edges.begin(); });
    auto held = field.read(host, {.offset = 5, .count = 1});
    expect_error(error_code::access_conflict, {}, [&] { edges.finish(); });
    EXPECT_TRUE(edges.poll());
    held.release();
    edges.finish();
    expect_exchanged(field);
    edges.exchange();
}

TEST(a_halo, holds_no_lease_between_begin_and_finish) {
    auto field = line();
    mpi::halo edges(MPI_COMM_WORLD, ring, field);
    edges.begin();
    for (int& each : field.read_write("debug:0")) each += 100;  // what was sent is sent
    edges.finish();
    expect_exchanged(field);
    EXPECT_EQ(field.read(host)[1], rank_of() + 100);
}

TEST(a_halo, names_the_message_that_does_not_come_and_can_go_on) {
    auto field = line();
    mpi::halo edges(MPI_COMM_WORLD, {.periodic = {false}, .timeout = 20ms}, field);
    if (rank_of() == 0) {
        edges.begin();
        expect_error(error_code::timeout, {"from rank 1 with tag 0", "4 bytes"}, [&] { edges.finish(); });
        EXPECT_EQ(field.read(host)[5], 0);
        MPI_Barrier(MPI_COMM_WORLD);
        edges.finish(forever);
        EXPECT_EQ(field.read(host)[5], 1);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        edges.begin();
        edges.finish(forever);
    }
    edges.begin();
    edges.finish(forever);
}

TEST(a_halo, may_end_while_messages_are_under_way) {
    auto field = line();
    std::optional<mpi::halo> edges(std::in_place, MPI_COMM_WORLD, ring, field);
    if (rank_of() == 0) edges->begin();
    MPI_Barrier(MPI_COMM_WORLD);
    edges.reset();
    edges.emplace(MPI_COMM_WORLD, ring, field);
    edges->exchange();
    expect_exchanged(field);
}

TEST(a_halo, is_used_on_the_thread_that_may_call_mpi) {
    int level = 0;
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_SERIALIZED) GTEST_SKIP() << "this MPI may be called on any thread";
    auto field = line();
    mpi::halo edges(MPI_COMM_WORLD, ring, field);
    std::thread([&] { expect_error(error_code::invalid_argument, {"another thread"}, [&] { edges.begin(); }); }).join();
    edges.exchange();
}

}  // namespace
}  // namespace unibuf::test
