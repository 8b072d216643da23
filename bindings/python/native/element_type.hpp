// element_type.hpp: what a buffer's elements are, to NumPy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

namespace unibuf::python {

namespace nb = nanobind;

struct element_type {
    nb::object dtype;  // a numpy.dtype
    std::size_t bytes = 0;
};

/// Returns what numpy.dtype(wanted) is. Throws TypeError where that is no plain data of some bytes.
element_type element_type_of(nb::handle wanted);

/// Returns `wanted`, an int or a sequence of ints, as a tuple, and sets `bytes` to the size of an array of that shape.
/// Throws TypeError, error(invalid_argument) for negative extents, and error(out_of_memory) for more than can be
/// addressed. Extents that are too large are refused also beside an extent of zero, as NumPy does.
nb::object shape_of(nb::handle wanted, const element_type& element, std::size_t& bytes);

/// Returns whether `object` is a numpy.ndarray.
bool is_array(nb::handle object);

/// Returns a numpy.ndarray over the bytes of `memory`.
nb::object array_over(nb::handle memory, nb::handle shape, nb::handle dtype, nb::handle strides);

}  // namespace unibuf::python
