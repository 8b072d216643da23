// imported.hpp: what the extension module uses of modules that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace unibuf::python {

/// Returns the attribute `name` of `module`, which is kept until the process ends, as the module is.
inline nanobind::handle imported(const char* module, const char* name) {
    return nanobind::object(nanobind::module_::import_(module).attr(name)).release();
}

}  // namespace unibuf::python
