// package.cpp: whose the folder is that the module was found in.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "module.hpp"

namespace unibuf::python {

void refuse_other_package() {
    const nb::object package = nb::module_::import_("unibuf");
    const nb::object name = nb::getattr(package, "_distribution", nb::none());
    if (nb::isinstance<nb::str>(name) && nb::cast<std::string>(name) == "unibuf-python") return;
    std::string why = "import unibuf found another package of that name than unibuf-python's";
    try {
        // This part of the package may be there still.
        const nb::object refusal = nb::module_::import_("unibuf._distributions").attr("refusal");
        why = nb::cast<std::string>(refusal(package.attr("__path__")[0]));
    } catch (const nb::python_error&) {
        // Then nobody knows whose the package is.
    }
    throw nb::import_error(why.c_str());
}

}  // namespace unibuf::python
