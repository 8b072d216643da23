// section.hpp: an array as a Fortran program passes it, which may be a part of another.
#pragma once

#include <ISO_Fortran_binding.h>

#include <cstddef>
#include <cstdint>

namespace unibuf::fortran {

/// A section of any type and rank, wherever its elements lie.
class section {
public:
    /// Throws error(invalid_argument) for an assumed-size array, whose last extent is not known, and for an array that
    /// is not allocated or not associated.
    explicit section(const CFI_cdesc_t& of);

    std::size_t element_bytes() const noexcept { return of_.elem_len; }
    std::size_t bytes() const noexcept { return bytes_; }

    /// Returns the first byte where all bytes lie together in the order of the elements; else null.
    const std::byte* contiguous() const noexcept;

    // These copy to and from a block of bytes() bytes, in the order of the elements.
    void gather(std::byte* to) const noexcept;
    void scatter(const std::byte* from) const noexcept;

private:
    template <class Copy>
    void for_each_run(const Copy& copy) const noexcept;

    const CFI_cdesc_t& of_;
    std::size_t bytes_;
    std::size_t run_bytes_;  // size of a run, whose bytes lie together
    int run_axes_;           // number of axes that make a run
};

/// Returns an element of a scalar or an array of rank 1 of any kind of integer. Throws error(invalid_argument) for
/// others, with the message `wanted`.
std::int64_t integer_at(const CFI_cdesc_t& of, std::size_t index, const char* wanted);

}  // namespace unibuf::fortran
