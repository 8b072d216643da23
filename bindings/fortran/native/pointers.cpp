// pointers.cpp: Fortran pointers of any rank into memory that unibuf has.
#include "pointers.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <unibuf/detail/sizes.hpp>
#include <unibuf/error.hpp>

#include "section.hpp"

namespace unibuf::fortran {

shaped_range::shaped_range(std::size_t bytes, std::size_t each, int rank, const CFI_cdesc_t* shape,
                           std::int64_t offset) {
    const auto all = static_cast<std::int64_t>(bytes / each);
    if (offset < 0 || offset > all) {
        throw error(error_code::out_of_range, "element " + std::to_string(offset) + " was asked for, of " +
                                                  std::to_string(all) + " of " + std::to_string(each) + " bytes");
    }
    const std::int64_t available = all - offset;
    const CFI_index_t given = !shape ? rank : shape->rank == 1 && shape->base_addr ? shape->dim[0].extent : 0;
    if (given != rank || (!shape && rank > 1)) {
        throw error(error_code::invalid_argument,
                    "a pointer of rank " + std::to_string(rank) + " needs a shape of as many extents");
    }
    constexpr std::size_t most = std::numeric_limits<std::int64_t>::max();
    std::size_t elements = 1;
    for (int axis = 0; axis < rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        extents_[at] = shape ? integer_at(*shape, at, "a shape is an array of integers of rank 1") : available;
        if (extents_[at] < 0) {
            throw error(error_code::invalid_argument,
                        "an extent of " + std::to_string(extents_[at]) + " was given: 0 is the least");
        }
        elements = std::min(detail::product(elements, static_cast<std::size_t>(extents_[at])).value_or(most), most);
    }
    if (elements > static_cast<std::size_t>(available)) {
        const char* const what = elements == most ? " or more" : "";
        throw error(error_code::out_of_range, "a pointer to " + std::to_string(elements) + what + " elements of " +
                                                  std::to_string(each) + " bytes was asked for; there are " +
                                                  std::to_string(available));
    }
    first_ = static_cast<std::size_t>(offset) * each;
}

void check_together(const section_layout* lies) {
    if (!lies) return;
    throw error(error_code::unsupported,
                "a pointer to logicals into a section was asked for: take one to integers of their size");
}

std::size_t section_layout::reach() const noexcept {
    std::size_t result = element;
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank); ++axis) {
        result += static_cast<std::size_t>((extents[axis] - 1) * strides[axis]);
    }
    return result;
}

void associate(CFI_cdesc_t& pointer, const section_layout& with, const CFI_cdesc_t* shape, std::byte* base) {
    if (shape || pointer.rank != with.rank || pointer.elem_len != with.element) {
        throw error(error_code::invalid_argument, "a pointer into a section is of its rank, " +
                                                      std::to_string(with.rank) + ", of its elements of " +
                                                      std::to_string(with.element) + " bytes, and is given no shape");
    }
    pointer.base_addr = base;
    for (int axis = 0; axis < pointer.rank; ++axis) {
        const auto at = static_cast<std::size_t>(axis);
        pointer.dim[axis] = {.lower_bound = 1, .extent = with.extents[at], .sm = with.strides[at]};
    }
}

void associate(CFI_cdesc_t& pointer, const shaped_range& with, std::byte* base) {
    std::size_t stride = pointer.elem_len;
    pointer.base_addr = base + with.offset();
    for (int axis = 0; axis < pointer.rank; ++axis) {
        pointer.dim[axis] = {.lower_bound = 1, .extent = with.extent(axis), .sm = static_cast<CFI_index_t>(stride)};
        // Nothing, where there are no elements.
        stride = detail::product(stride, static_cast<std::size_t>(with.extent(axis))).value_or(0);
    }
}

}  // namespace unibuf::fortran
