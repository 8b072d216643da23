// call_site.cpp
#include "call_site.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace nb = nanobind;

namespace unibuf::python {

/// Returns the number of "file.py:12 in function" for the innermost frame that is not of this package; 0 where there is
/// none, or no memory.
std::uint64_t called_from_python::site_of_line() {
    const nb::error_scope on_its_way;
    try {
        nb::object frame = nb::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
        while (frame.is_valid() && !frame.is_none()) {
            auto* const native = reinterpret_cast<PyFrameObject*>(frame.ptr());
            const nb::object code = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetCode(native)));
            const auto file = nb::cast<std::string>(code.attr("co_filename"));
            if (file.find("/unibuf/") == std::string::npos) {
                const auto function = nb::cast<std::string>(code.attr("co_name"));
                return site_of(file + ":" + std::to_string(PyFrame_GetLineNumber(native)) + " in " + function);
            }
            frame = frame.attr("f_back");
        }
    } catch (const std::exception&) {
        PyErr_Clear();
    }
    return 0;
}

}  // namespace unibuf::python
