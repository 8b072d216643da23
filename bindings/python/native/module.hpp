// module.hpp: the parts of the extension module unibuf._native, and what they share.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <unibuf/unibuf.hpp>

#include "element_type.hpp"
#include "typed_buffer.hpp"

namespace unibuf::python {

namespace nb = nanobind;

// These add classes and functions to the module.
void define_buffer(nb::module_& in);
void define_plain_properties(nb::module_& in);
void define_views(nb::module_& in);
void define_access(nb::module_& in);
void define_standing(nb::module_& in);
void define_pool(nb::module_& in);
void define_spaces(nb::module_& in);
void define_dlpack(nb::module_& in);
void define_registry(nb::module_& in);
void define_sharing(nb::module_& in);
void define_tool(nb::module_& in);
void define_trace(nb::module_& in);
void define_cancelling(nb::module_& in);
void define_call_sites(nb::module_& in);
void define_opencl(nb::module_& in);

/// Throws ImportError where the package that is being imported is not this module's: somebody else's of its name may
/// have been installed over it.
void refuse_other_package();

/// Makes an instance of `type`, which is Buffer or a class made from it.
nb::object make_buffer(nb::handle type, unibuf::buffer bytes, element_type element, nb::object shape,
                       std::optional<rectangle_of_array> rectangle = std::nullopt);

/// Returns what makes a Buffer, its methods, and its operators. They are made without nanobind, as its properties are;
/// unibuf._base states their types, as the stub of this module cannot.
PyType_Slot* buffer_slots();

/// Makes the Views of the buffer `of`.
nb::object make_views(nb::handle of);

/// Makes an Access of the buffer `of`. What is not given is null, but for the space and the stream, which are None.
nb::object make_block(nb::handle of, access what, nb::handle where, nb::handle offset, nb::handle count,
                      nb::handle timeout, nb::handle stream);

/// Take the lease of an Access, and return its array; and end that.
nb::object enter_block(nb::handle block);
void leave_block(nb::handle block);

/// Returns the figures that the class Statistics of the package is made of.
nb::dict statistics_as_dict(const statistics& of);

}  // namespace unibuf::python
