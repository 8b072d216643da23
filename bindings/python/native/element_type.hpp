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

/// What numpy.dtype(wanted) is. Throws TypeError where it is no plain data of some bytes.
element_type element_type_of(nb::handle wanted);

/// The tuple that `wanted`, an int or a sequence of them, is as a shape, and how many bytes such an array has. Throws
/// TypeError, error(invalid_argument) for negative extents, error(out_of_memory) for more than can be addressed, also
/// where an extent of zero comes with them, as NumPy does.
nb::object shape_of(nb::handle wanted, const element_type& element, std::size_t& bytes);

/// numpy.ndarray over the bytes of `memory`.
nb::object array_over(nb::handle memory, nb::handle shape, nb::handle dtype);

}  // namespace unibuf::python
