// mpi/grid.hpp: a grid that is cut among processes, with a value at each cell that tells where it is.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "unibuf/mpi.hpp"

namespace unibuf::test {

inline int rank_of(MPI_Comm comm = MPI_COMM_WORLD) {
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return rank;
}

inline int size_of(MPI_Comm comm = MPI_COMM_WORLD) {
    int size = 0;
    MPI_Comm_size(comm, &size);
    return size;
}

// The neighbours of this process in a ring of all.
inline int right() { return (rank_of() + 1) % size_of(); }
inline int left() { return (rank_of() + size_of() - 1) % size_of(); }

/// How a grid is cut. Only the first `cuts` axes are; a third axis that is not is there in whole.
struct layout {
    std::size_t cuts = 1;
    std::size_t axes = 1;
    std::size_t ghosts = 1;
    bool periodic = false;
    bool corners = false;
};

inline std::string name_of(const layout& of) {
    return std::to_string(of.axes) + "d_cut_" + std::to_string(of.cuts) + "_ghosts_" + std::to_string(of.ghosts) +
           (of.periodic ? "_periodic" : "") + (of.corners ? "_corners" : "");
}

using cell = std::array<int, 3>;  // along axes 0, 1 and 2

/// The part of a grid that this process has. Parts are of unequal size.
class part {
public:
    explicit part(const layout& of) : of_(of) {
        std::array<int, 3> ranks{};
        MPI_Dims_create(size_of(), static_cast<int>(of.cuts), ranks.data());
        int rest = rank_of();
        for (std::size_t axis = 3; axis-- > 0;) {
            const bool cut = axis < of.cuts;
            ranks_[axis] = cut ? ranks[axis] : 1;
            at_[axis] = rest % ranks_[axis];
            rest /= ranks_[axis];
            ghosts_[axis] = cut ? static_cast<int>(of.ghosts) : 0;
            const int each = axis < of.axes ? 5 + static_cast<int>(axis) : 1;
            own_[axis] = each + (cut && at_[axis] == 0 ? 1 : 0);
            cells_[axis] = each * ranks_[axis] + (cut ? 1 : 0);
            first_[axis] = each * at_[axis] + (cut && at_[axis] > 0 ? 1 : 0);
        }
    }

    unibuf::shape shape() const {
        std::vector<int> extents;
        for (std::size_t axis = 0; axis < of_.axes; ++axis) extents.push_back(own_[axis] + 2 * ghosts_[axis]);
        return unibuf::shape::of(extents);
    }

    mpi::halo_options options() const {
        mpi::halo_options result;
        result.ghosts.assign(of_.cuts, of_.ghosts);
        result.periodic.assign(of_.cuts, of_.periodic);
        result.corners = of_.corners;
        return result;
    }

    /// Calls `with(index, here)` for all elements, ghosts among them; `here` counts from the first own cell.
    template <class With>
    void for_each(With with) const {
        std::size_t index = 0;
        cell here{};
        for (here[0] = -ghosts_[0]; here[0] < own_[0] + ghosts_[0]; ++here[0])
            for (here[1] = -ghosts_[1]; here[1] < own_[1] + ghosts_[1]; ++here[1])
                for (here[2] = -ghosts_[2]; here[2] < own_[2] + ghosts_[2]; ++here[2]) with(index++, here);
    }

    std::size_t index_of(const cell& here) const {
        std::size_t index = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            index = index * static_cast<std::size_t>(own_[axis] + 2 * ghosts_[axis]) +
                    static_cast<std::size_t>(here[axis] + ghosts_[axis]);
        }
        return index;
    }

    bool is_own(const cell& here) const {
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (here[axis] < 0 || here[axis] >= own_[axis]) return false;
        }
        return true;
    }

    /// Returns whether an exchange fills this element: it is a ghost, and some process has its cell.
    bool is_filled(const cell& here) const {
        int across = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
            if (here[axis] >= 0 && here[axis] < own_[axis]) continue;
            ++across;
            const int global = first_[axis] + here[axis];
            if (!of_.periodic && (global < 0 || global >= cells_[axis])) return false;
        }
        return across == 1 || (across > 1 && of_.corners);
    }

    std::size_t filled() const {
        std::size_t result = 0;
        for_each([&](std::size_t, const cell& here) { result += is_filled(here); });
        return result;
    }

    /// Returns the number of own cells that some neighbour has as ghosts.
    std::size_t boundary() const {
        std::size_t result = 0;
        for_each([&](std::size_t, const cell& here) {
            bool is_boundary = false;
            for (std::size_t axis = 0; axis < of_.cuts; ++axis) {
                const bool from_first = of_.periodic || first_[axis] > 0;
                const bool from_last = of_.periodic || first_[axis] + own_[axis] < cells_[axis];
                is_boundary = is_boundary || (from_first && here[axis] < ghosts_[axis]) ||
                              (from_last && here[axis] >= own_[axis] - ghosts_[axis]);
            }
            result += is_own(here) && is_boundary;
        });
        return result;
    }

    /// Returns the place in the whole grid; along a periodic axis it wraps around.
    cell global(const cell& here) const {
        cell result{};
        for (std::size_t axis = 0; axis < 3; ++axis) {
            result[axis] = (first_[axis] + here[axis] + cells_[axis]) % cells_[axis];
        }
        return result;
    }

    const cell& cells() const { return cells_; }
    const cell& own() const { return own_; }
    const layout& of() const { return of_; }

private:
    layout of_;
    cell ranks_{}, at_{}, ghosts_{}, own_{}, cells_{}, first_{};
};

inline std::uint64_t sum_over_all(std::uint64_t mine) {
    std::uint64_t all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/// Expects `call` to throw an error of this code whose text has all these words.
template <class Call>
void expect_error(error_code code, std::initializer_list<std::string> words, Call call) {
    try {
        call();
        ADD_FAILURE() << "no error " << to_string(code);
    } catch (const error& got) {
        EXPECT_EQ(got.code(), code) << got.what();
        for (const std::string& word : words) {
            EXPECT_NE(std::string(got.what()).find(word), std::string::npos)
                << "no '" << word << "' in: " << got.what();
        }
    }
}

}  // namespace unibuf::test
