// mpi/halo_test.cpp: ghosts are the cells of neighbours, and nothing but the boundary moves.
#include <numeric>

#include "mpi/grid.hpp"

namespace unibuf::test {
namespace {

using number = std::int32_t;
constexpr number untouched = -1;

struct halo_case {
    layout of;
    std::string where;
};

std::string name_of(const halo_case& of) {
    std::string name = name_of(of.of) + "_" + of.where;
    std::ranges::replace(name, ':', '_');
    return name;
}

number value_at(const cell& global) { return global[0] * 10000 + global[1] * 100 + global[2]; }

class halo : public testing::TestWithParam<halo_case> {
protected:
    void SetUp() override {
        try {
            where_ = space(GetParam().where);
        } catch (const error& missing) {
            GTEST_SKIP() << missing.what();
        }
    }

    /// A field of this process, newest at the device.
    template <class T>
    unified_buffer<T> field(const std::vector<T>& content) const {
        buffer_options options;
        options.device = where_;
        options.hint = memory_hint::gpu_preferred;
        unified_buffer<T> result(here_.shape(), options);
        result.copy_from(content);
        written(result);
        return result;
    }

    /// Makes the device newest, as a kernel does that writes all.
    template <class T>
    void written(unified_buffer<T>& field) const {
        field.read(where_).release();
        field.mark_dirty(where_);
    }

    std::vector<number> numbers() const {
        std::vector<number> result(here_.shape().elements(), untouched);
        here_.for_each([&](std::size_t index, const cell& at) {
            if (here_.is_own(at)) result[index] = value_at(here_.global(at));
        });
        return result;
    }

    void expect_filled(const unified_buffer<number>& field, number sign = 1) const {
        std::vector<number> got(field.size());
        field.copy_to(got);
        here_.for_each([&](std::size_t index, const cell& at) {
            const bool known = here_.is_own(at) || here_.is_filled(at);
            EXPECT_EQ(got[index], known ? sign * value_at(here_.global(at)) : untouched)
                << at[0] << " " << at[1] << " " << at[2];
        });
    }

    std::uint64_t moves(std::uint64_t bytes) const { return where_ == host ? 0 : bytes; }

    const part here_{GetParam().of};
    space where_;
};

TEST_P(halo, fills_ghosts_and_moves_the_boundary_alone) {
    auto content = field(numbers());
    mpi::halo edges(MPI_COMM_WORLD, here_.options(), content);
    edges.exchange();
    content.read(where_).release();  // a kernel that needs all

    const std::uint64_t ghosts = here_.filled() * sizeof(number);
    const mpi::halo_statistics made = edges.statistics();
    std::uint64_t sent = 0, received = 0;
    for (const mpi::halo_neighbour& each : made.neighbours) {
        sent += each.bytes_sent;
        received += each.bytes_received;
    }
    EXPECT_EQ(made.exchanges, 1);
    EXPECT_EQ(received, ghosts);
    EXPECT_EQ(sum_over_all(sent), sum_over_all(ghosts));
    const std::uint64_t boundary = here_.boundary() * sizeof(number);
    EXPECT_GE(made.bytes_to_devices, moves(ghosts));
    // Where calls of a driver are dear, runs go together with what lies between them, if the host has it.
    EXPECT_LE(made.bytes_to_devices, moves(GetParam().where == "debug:0" ? ghosts : ghosts + boundary));
    // What goes to several neighbours comes to the host once where there are many, else with each of them.
    EXPECT_EQ(made.bytes_from_devices, moves(here_.options().corners ? boundary : sent));
    expect_filled(content);
}

TEST_P(halo, sends_several_fields_in_one_message_to_each_neighbour) {
    auto content = field(numbers());
    auto negative = numbers();
    for (number& each : negative) each = each == untouched ? untouched : -each;
    auto other = field(negative);
    auto small = field(std::vector<std::uint8_t>(here_.shape().elements(), 7));
    mpi::halo one(MPI_COMM_WORLD, here_.options(), content);
    mpi::halo all(MPI_COMM_WORLD, here_.options(), small, content, other);
    all.exchange();
    one.exchange();

    const auto alone = one.statistics().neighbours;
    const auto together = all.statistics().neighbours;
    ASSERT_EQ(together.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
        EXPECT_EQ(together[i].bytes_sent, alone[i].bytes_sent / sizeof(number) * (2 * sizeof(number) + 1));
    }
    expect_filled(content);
    expect_filled(other, -1);
}

/// Lets each cell become a sum of it and its neighbours, those at corners too where the layout has them.
template <class At>
number step(const cell& here, const layout& of, At at) {
    auto sum = static_cast<std::uint32_t>(3 * at(here));
    for (int place = 0; place < 27; ++place) {
        const cell there{here[0] + place / 9 - 1, here[1] + place / 3 % 3 - 1, here[2] + place % 3 - 1};
        int across = 0;
        bool cut = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            across += there[axis] != here[axis];
            cut = cut && (axis < of.cuts || there[axis] == here[axis]);
        }
        if (cut && (across == 1 || (across > 1 && of.corners)))
            sum += static_cast<std::uint32_t>((place + 1) * at(there));
    }
    return static_cast<number>(sum & 0xffffff);
}

TEST_P(halo, lets_many_processes_compute_what_one_does) {
    constexpr int steps = 4;
    const layout& of = GetParam().of;
    const cell cells = here_.cells();
    std::vector<number> whole(static_cast<std::size_t>(cells[0] * cells[1] * cells[2]));
    const auto index = [&](const cell& at) {
        return static_cast<std::size_t>((at[0] * cells[1] + at[1]) * cells[2] + at[2]);
    };
    const auto for_each_cell = [&](auto with) {
        for (int i = 0; i < cells[0]; ++i)
            for (int j = 0; j < cells[1]; ++j)
                for (int k = 0; k < cells[2]; ++k) with(cell{i, j, k});
    };
    for_each_cell([&](const cell& at) { whole[index(at)] = value_at(at); });
    for (int i = 0; i < steps; ++i) {
        std::vector<number> next(whole.size());
        for_each_cell([&](const cell& at) {
            next[index(at)] = step(at, of, [&](const cell& there) {
                cell wrapped{};
                for (std::size_t axis = 0; axis < 3; ++axis) {
                    if (!of.periodic && (there[axis] < 0 || there[axis] >= cells[axis])) return untouched;
                    wrapped[axis] = (there[axis] + cells[axis]) % cells[axis];
                }
                return whole[index(wrapped)];
            });
        });
        whole = next;
    }

    auto content = field(numbers());
    mpi::halo edges(MPI_COMM_WORLD, here_.options(), content);
    std::vector<number> now(content.size());
    for (int i = 0; i < steps; ++i) {
        edges.exchange();
        content.copy_to(now);
        std::vector<number> next = now;
        here_.for_each([&](std::size_t at, const cell& cell) {
            if (!here_.is_own(cell)) return;
            next[at] = step(cell, of, [&](const auto& there) { return now[here_.index_of(there)]; });
        });
        content.copy_from(next);
        written(content);
    }
    content.copy_to(now);
    here_.for_each([&](std::size_t at, const cell& cell) {
        if (!here_.is_own(cell)) return;
        EXPECT_EQ(now[at], whole[index(here_.global(cell))]) << cell[0] << " " << cell[1];
    });
}

std::vector<halo_case> cases() {
    std::vector<halo_case> result;
    for (const char* where : {"host", "debug:0", "opencl:0"}) {
        for (std::size_t cuts = 1; cuts <= 3; ++cuts)
            for (std::size_t ghosts = 1; ghosts <= 2; ++ghosts)
                for (const bool periodic : {false, true})
                    result.push_back({{cuts, cuts, ghosts, periodic, false}, where});
        result.push_back({{1, 3, 2, true, false}, where});
        result.push_back({{2, 3, 1, false, false}, where});
        result.push_back({{2, 2, 2, true, true}, where});
        result.push_back({{3, 3, 1, false, true}, where});
    }
    return result;
}

INSTANTIATE_TEST_SUITE_P(grids, halo, testing::ValuesIn(cases()), [](const auto& of) { return name_of(of.param); });

}  // namespace
}  // namespace unibuf::test
