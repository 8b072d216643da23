// array_operators.hpp: the operators of a buffer, and NumPy's functions of elements.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

namespace unibuf::python {

/// Returns the slots of the class Buffer that Python's operators call.
std::span<const PyType_Slot> array_operators();

/// The method `__array_ufunc__` of Buffer, by which NumPy hands over what its functions were called with.
PyObject* array_ufunc(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* names);

}  // namespace unibuf::python
