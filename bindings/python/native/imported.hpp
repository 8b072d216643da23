// imported.hpp: what the module uses of others that are written in Python.
#pragma once

#include <nanobind/nanobind.h>

namespace unibuf::python {

/// `name` of `module`; kept until the process ends, as the module is.
inline nanobind::handle imported(const char* module, const char* name) {
    return nanobind::object(nanobind::module_::import_(module).attr(name)).release();
}

}  // namespace unibuf::python
