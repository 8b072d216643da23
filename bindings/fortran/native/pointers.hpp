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

/// How the elements of a section of a buffer lie: by their shape in Fortran's order, and from each other.
struct section_layout {
    std::size_t element = 0;  // size in bytes
    int rank = 0;
    std::array<std::int64_t, CFI_MAX_RANK> extents{};
    std::array<std::int64_t, CFI_MAX_RANK> strides{};  // in bytes

    /// Returns the bytes from the first element to the last.
    std::size_t reach() const noexcept;
};

/// Throws error(unsupported) where elements lie apart: pointers to default logicals are made by the compiler.
void check_together(const section_layout* lies);

/// Associates a pointer with a section whose first element is at `base`. Throws error(invalid_argument) where rank or
/// element size of the pointer are others, or a shape was given.
void associate(CFI_cdesc_t& pointer, const section_layout& with, const CFI_cdesc_t* shape, std::byte* base);

/// Associates a pointer with such an array at `base`, with lower bounds of 1. The pointer's type and rank are those of
/// the array.
void associate(CFI_cdesc_t& pointer, const shaped_range& with, std::byte* base);

}  // namespace unibuf::fortran
