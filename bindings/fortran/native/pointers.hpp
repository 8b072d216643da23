// pointers.hpp: Fortran pointers of any rank into memory that unibuf has.
#pragma once

#include <ISO_Fortran_binding.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace unibuf::fortran {

/// The place of an array in `bytes` bytes.
class shaped_range {
public:
    /// Places elements of `each` bytes, from the element `offset` on. Without a shape, rank 1 is all elements to the
    /// end, and rank 0 one. Throws error(invalid_argument) where the shape is not of that rank, error(out_of_range)
    /// where the array is not all there.
    shaped_range(std::size_t bytes, std::size_t each, int rank, const CFI_cdesc_t* shape, std::int64_t offset);

    std::size_t offset() const noexcept { return first_; }
    std::int64_t extent(int axis) const noexcept { return extents_[static_cast<std::size_t>(axis)]; }

private:
    std::size_t first_ = 0;
    std::array<std::int64_t, CFI_MAX_RANK> extents_{};
};

/// Associates a pointer with such an array at `base`, with lower bounds of 1. The pointer's type and rank are those of
/// the array.
void associate(CFI_cdesc_t& pointer, const shaped_range& with, std::byte* base);

}  // namespace unibuf::fortran
