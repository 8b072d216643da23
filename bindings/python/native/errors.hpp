// errors.hpp: unibuf::error as the exceptions of the Python package.
#pragma once

#include <Python.h>

namespace unibuf::python {

/// Raises them, in all functions of the module, as what unibuf.errors has for their codes.
void translate_errors();

/// Sets the Python error that the exception under way is.
void raise_current() noexcept;

/// What `call` returns, for slots that Python calls without nanobind: null where it throws, with the error set.
template <class Call>
PyObject* guarded(Call call) noexcept {
    try {
        return call();
    } catch (...) {
        raise_current();
        return nullptr;
    }
}

}  // namespace unibuf::python
