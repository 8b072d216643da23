// errors.cpp: turns unibuf::error into the exceptions of the Python package.
#include "errors.hpp"

#include <nanobind/nanobind.h>

#include <new>
#include <string>
#include <unibuf/error.hpp>

#include "callbacks.hpp"
#include "imported.hpp"

namespace unibuf::python {

namespace nb = nanobind;

namespace {

void raise(const error& failure) {
    const auto* const by_python = dynamic_cast<const raised*>(&failure);
    if (by_python) return by_python->raise_again();
    static constinit imported by_code("unibuf.errors", "by_code");
    const std::string code(to_string(failure.code()));
    const nb::object type = by_code.get()[code.c_str()];
    PyErr_SetString(type.ptr(), std::string(failure.message()).c_str());
}

}  // namespace

void translate_errors() {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const error& failure) {
            raise(failure);
        }
    });
}

void raise_current() noexcept {
    try {
        try {
            throw;
        } catch (const error& failure) {
            raise(failure);
        }
    } catch (nb::python_error& failure) {
        failure.restore();
    } catch (const nb::builtin_exception& failure) {
        PyErr_SetString(failure.type() == nb::exception_type::type_error ? PyExc_TypeError : PyExc_RuntimeError,
                        failure.what());
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& failure) {
        PyErr_SetString(PyExc_RuntimeError, failure.what());
    }
}

}  // namespace unibuf::python
