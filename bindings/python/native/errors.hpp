// errors.hpp: unibuf::error as the exceptions of the Python package.
#pragma once

#include <Python.h>

namespace unibuf::python {

/// Lets all functions of the module raise each error as the exception that unibuf.errors has for its code.
void translate_errors();

/// Sets the Python error that stands for the C++ exception being handled.
void raise_current() noexcept;

/// Returns what `call` returns, for slots that Python calls without nanobind. Where `call` throws, it returns null and
/// sets the Python error.
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
