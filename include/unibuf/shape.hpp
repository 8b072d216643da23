// unibuf/shape.hpp: how many elements along each axis; row-major.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "unibuf/detail/sizes.hpp"
#include "unibuf/error.hpp"

namespace unibuf {

/// A shape has up to 8 extents; one without extents is one element. Throws error(invalid_argument) for more extents or
/// a negative one, error(out_of_memory) where the elements cannot be counted in 64 bits.
class shape {
public:
    static constexpr std::size_t max_rank = 8;

    constexpr shape() noexcept = default;

    template <std::integral... Extents>
        requires(sizeof...(Extents) <= max_rank)
    constexpr shape(Extents... extents) : rank_(sizeof...(Extents)), extents_{checked(extents)...} {
        count();
    }

    /// Makes a shape of extents whose number is known at run time.
    template <class Extents>
    static constexpr shape of(const Extents& extents) {
        if (std::size(extents) > max_rank) {
            throw error(error_code::invalid_argument,
                        "a shape has up to 8 axes; " + std::to_string(std::size(extents)) + " were asked for");
        }
        shape result;
        for (const auto extent : extents) result.extents_[result.rank_++] = checked(extent);
        result.count();
        return result;
    }

    constexpr std::size_t rank() const noexcept { return rank_; }
    constexpr std::size_t operator[](std::size_t axis) const noexcept { return extents_[axis]; }
    constexpr std::span<const std::size_t> extents() const noexcept { return {extents_.data(), rank_}; }
    constexpr std::size_t elements() const noexcept { return elements_; }

    friend constexpr bool operator==(const shape&, const shape&) noexcept = default;

private:
    template <std::integral Extent>
    static constexpr std::size_t checked(Extent extent) {
        if (!std::in_range<std::size_t>(extent)) {
            throw error(error_code::invalid_argument, "an extent of " + std::to_string(extent) + " was asked for");
        }
        return static_cast<std::size_t>(extent);
    }

    constexpr void count() {
        bool empty = false;
        for (const std::size_t extent : extents()) empty |= extent == 0;
        elements_ = empty ? 0 : 1;
        if (empty) return;
        for (const std::size_t extent : extents()) {
            const auto counted = detail::product(elements_, extent);
            if (!counted) throw error(error_code::out_of_memory, "a shape of more than 2^64 elements was asked for");
            elements_ = *counted;
        }
    }

    std::size_t rank_ = 0;
    std::array<std::size_t, max_rank> extents_{};
    std::size_t elements_ = 1;
};

}  // namespace unibuf
